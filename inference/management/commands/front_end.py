"""`manage.py front_end`."""

from inference.features.learning.front_end.command import Command

__all__ = ["Command"]
