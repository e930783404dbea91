"""`manage.py compare-predictors`."""

from inference.features.judging.engine.command import ComparePredictorsCommand as Command

__all__ = ["Command"]
