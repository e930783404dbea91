"""`manage.py export`."""

from inference.features.publishing.command import Command

__all__ = ["Command"]
