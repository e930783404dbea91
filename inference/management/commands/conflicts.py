"""`manage.py conflicts`."""

from inference.features.conflicts.command import Command

__all__ = ["Command"]
