"""`manage.py fork-server`."""

from inference.features.running.runs.fork_server_command import Command

__all__ = ["Command"]
