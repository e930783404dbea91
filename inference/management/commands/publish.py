"""`manage.py publish`."""

from inference.features.publishing.publish_command import Command

__all__ = ["Command"]
