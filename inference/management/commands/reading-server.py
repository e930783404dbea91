"""`manage.py reading-server`."""

from inference.features.library.uploads.reading_server_command import Command

__all__ = ["Command"]
