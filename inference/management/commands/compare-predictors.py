"""`manage.py compare-predictors`."""

from inference.features.judging.comparisons.command import Command

__all__ = ["Command"]
