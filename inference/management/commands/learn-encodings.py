"""`manage.py learn-encodings`."""

from inference.features.library.schemes.learn_command import Command

__all__ = ["Command"]
