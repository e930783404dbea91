"""`manage.py conflicts`."""

from inference.features.judging.conflicts.command import Command

__all__ = ["Command"]
