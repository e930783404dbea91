"""`manage.py explain`."""

from inference.features.explained.command import Command

__all__ = ["Command"]
