"""`manage.py compare`."""

from inference.features.judging.comparing.commands import CompareCommand as Command

__all__ = ["Command"]
