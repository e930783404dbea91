"""`manage.py fork-server`."""

from inference.features.runs.fork_server_command import Command

__all__ = ["Command"]
