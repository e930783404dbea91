"""`manage.py predict`."""

from inference.features.experiments.command import Command

__all__ = ["Command"]
