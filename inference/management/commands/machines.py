"""`manage.py machines`."""

from inference.features.machines.machines.command import Command

__all__ = ["Command"]
