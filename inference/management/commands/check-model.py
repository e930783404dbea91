"""`manage.py check-model`."""

from inference.features.model_check.command import Command

__all__ = ["Command"]
