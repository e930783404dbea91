"""`manage.py block-sets`."""

from inference.features.judging.column_accuracy.command import Command

__all__ = ["Command"]
