"""`manage.py revoke-machine`."""

from inference.features.machines.revoke_command import Command

__all__ = ["Command"]
