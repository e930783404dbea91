"""`manage.py predictors`."""

from anica_app.features.predictors.command import Command

__all__ = ["Command"]
