"""What the tests of the machines share."""

from tests.runs.machines.fixtures import home, machine, web

__all__ = ["home", "machine", "web"]
