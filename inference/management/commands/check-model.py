"""`manage.py check-model`."""

from inference.features.judging.model_check.command import Command

__all__ = ["Command"]
