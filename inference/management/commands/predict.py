"""`manage.py predict`."""

from inference.features.library.experiments.command import Command

__all__ = ["Command"]
