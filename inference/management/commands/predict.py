"""`manage.py predict`."""

from inference.features.asking.questions.command import Command

__all__ = ["Command"]
