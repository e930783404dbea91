"""`manage.py load-isa`."""

from inference.features.schemes.command import Command

__all__ = ["Command"]
