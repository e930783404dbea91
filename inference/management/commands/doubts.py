"""`manage.py doubts`."""

from inference.features.doubts.command import Command

__all__ = ["Command"]
