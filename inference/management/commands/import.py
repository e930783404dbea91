"""`manage.py import`."""

from inference.features.uploads.command import Command

__all__ = ["Command"]
