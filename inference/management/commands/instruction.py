"""`manage.py instruction`."""

from inference.features.library.instruction.command import Command

__all__ = ["Command"]
