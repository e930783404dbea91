"""`manage.py work`."""

from inference.features.running.runs.work_command import Command

__all__ = ["Command"]
