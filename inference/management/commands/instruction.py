"""`manage.py instruction`."""

from inference.features.instruction.command import Command

__all__ = ["Command"]
