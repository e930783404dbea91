"""`manage.py know`."""

from inference.features.know.command import Command

__all__ = ["Command"]
