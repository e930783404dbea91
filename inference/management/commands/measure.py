"""`manage.py measure`."""

from inference.features.machines.measure.command import Command

__all__ = ["Command"]
