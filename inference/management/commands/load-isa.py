"""`manage.py load-isa`."""

from inference.features.library.schemes.command import LoadIsaCommand as Command

__all__ = ["Command"]
