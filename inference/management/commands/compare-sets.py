"""`manage.py compare-sets`."""

from inference.features.judging.comparing.commands import CompareSetsCommand as Command

__all__ = ["Command"]
