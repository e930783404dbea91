"""`manage.py front_end`."""

from inference.features.front_end.command import Command

__all__ = ["Command"]
