"""`manage.py explain`."""

from inference.features.learning.explained.command import Command

__all__ = ["Command"]
