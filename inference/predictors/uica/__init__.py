"""uiCA, and Facile that comes with it: kept loaded by a script that their own Python runs."""
