"""`manage.py execute-run`."""

from inference.features.runs.execute_command import Command

__all__ = ["Command"]
