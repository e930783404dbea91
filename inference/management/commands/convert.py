"""`manage.py convert`."""

from inference.features.resources.command import Command

__all__ = ["Command"]
