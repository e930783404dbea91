"""`manage.py publish`."""

from inference.features.publishing.site.publish_command import Command

__all__ = ["Command"]
