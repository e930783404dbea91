"""`manage.py record-core`."""

from inference.features.learning.core_model.record_command import Command

__all__ = ["Command"]
