"""uiCA, and Facile that comes with it: kept warm by a small script that their own Python runs."""
