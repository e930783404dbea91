"""OSACA as a predictor: an external program, kept loaded by a script that its own Python runs."""
