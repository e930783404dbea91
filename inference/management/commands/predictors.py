"""`manage.py predictors`."""

from inference.features.asking.predictors.command import Command

__all__ = ["Command"]
