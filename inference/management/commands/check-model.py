"""`manage.py check-model`."""

from inference.features.judging.findings.run_commands import CheckModelCommand as Command

__all__ = ["Command"]
