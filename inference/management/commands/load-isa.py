"""`manage.py load-isa`."""

from inference.features.library.schemes.command import Command

__all__ = ["Command"]
