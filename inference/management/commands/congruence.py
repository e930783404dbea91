"""`manage.py congruence`."""

from inference.features.judging.findings.commands import CongruenceCommand as Command

__all__ = ["Command"]
