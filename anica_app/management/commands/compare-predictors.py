"""`manage.py compare-predictors`."""

from anica_app.features.comparisons.command import Command

__all__ = ["Command"]
