"""`manage.py simulate-agent`."""

from inference.features.machines.simulate_command import Command

__all__ = ["Command"]
