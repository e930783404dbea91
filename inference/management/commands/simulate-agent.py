"""`manage.py simulate-agent`."""

from inference.features.machines.machines.simulate_command import Command

__all__ = ["Command"]
