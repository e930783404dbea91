"""`manage.py doubts`."""

from inference.features.judging.doubts.command import Command

__all__ = ["Command"]
