"""`manage.py import`."""

from inference.features.library.uploads.command import Command

__all__ = ["Command"]
