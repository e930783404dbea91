"""Predictors beside the measurements of an experiment set."""
