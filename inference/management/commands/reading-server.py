"""`manage.py reading-server`."""

from inference.features.uploads.reading_server_command import Command

__all__ = ["Command"]
