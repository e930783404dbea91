"""`manage.py compare-sets`."""

from inference.features.judging.comparing.set_command import Command

__all__ = ["Command"]
