"""How well whatever predicts agrees with measurements."""
