"""Several predictors beside one measurement of the same experiments (thesis Tables 5.3, 5.4 and 6.3)."""
