"""`manage.py llvm-difference`."""

from inference.features.judging.findings.run_commands import LlvmDifferenceCommand as Command

__all__ = ["Command"]
