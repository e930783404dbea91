"""`manage.py know`."""

from inference.features.learning.know.command import Command

__all__ = ["Command"]
