"""`manage.py learn-encodings`."""

from inference.features.library.schemes.command import LearnEncodingsCommand as Command

__all__ = ["Command"]
