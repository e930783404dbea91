"""`manage.py evaluate`."""

from inference.features.evaluations.command import Command

__all__ = ["Command"]
