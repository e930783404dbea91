"""`manage.py revoke-machine`."""

from inference.features.machines.machines.revoke_command import Command

__all__ = ["Command"]
