"""`manage.py compare-predictors`."""

from inference.features.judging.engine.predictors_command import Command

__all__ = ["Command"]
