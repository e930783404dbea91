"""`manage.py machines`."""

from inference.features.machines.command import Command

__all__ = ["Command"]
