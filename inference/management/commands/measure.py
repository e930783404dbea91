"""`manage.py measure`."""

from inference.features.measure.command import Command

__all__ = ["Command"]
