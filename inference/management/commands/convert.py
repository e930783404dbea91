"""`manage.py convert`."""

from inference.features.library.resources.command import Command

__all__ = ["Command"]
