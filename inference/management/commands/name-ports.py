"""`manage.py name-ports`."""

from inference.features.learning.core_model.command import Command

__all__ = ["Command"]
