"""`manage.py name-ports`."""

from inference.features.core_model.command import Command

__all__ = ["Command"]
