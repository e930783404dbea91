"""`manage.py work`."""

from inference.features.runs.work_command import Command

__all__ = ["Command"]
