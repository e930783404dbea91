"""OSACA as a predictor: an external program, kept warm by a small script that its own Python runs."""
