"""Commands of the house: starting and serving, ways in, backing up."""
