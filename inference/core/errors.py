"""Errors of the core; each message says what is wrong, where, and what would be right.

CoreError
├── InvalidInputError (also a ValueError)   a value that no mapping, experiment or setting can have
│   └── UnknownSchemeError                  an experiment names a scheme that the mapping lacks
├── InsufficientDataError                   too few measurements to answer a question
├── MeasuringError                          a machine can measure no experiment
└── InterruptedRunError                     a pause, a cancel or an early result was requested
"""

from __future__ import annotations

import json
from collections.abc import Iterable


class CoreError(Exception):
    """Base of all errors that the core raises on purpose."""


class InvalidInputError(CoreError, ValueError):
    """A value outside its domain; the message names the value."""


class UnknownSchemeError(InvalidInputError):
    """An experiment names schemes that the port mapping does not describe: `schemes`, sorted."""

    def __init__(self, schemes: Iterable[str]) -> None:
        self.schemes = tuple(sorted(set(schemes)))
        examples = "; ".join(self.schemes[:5]) + (" …" if len(self.schemes) > 5 else "")
        super().__init__(f"{len(self.schemes)} scheme(s) without a port usage in this mapping: {examples}")


class InsufficientDataError(CoreError):
    """The available measurements cannot answer the question; the message says what is missing."""


class MeasuringError(CoreError):
    """No experiment can be measured at all; the message says why and what would help."""


KEEP = "keep"
"""Request to end with the best result so far. A search that has one ends normally; others are interrupted."""


class InterruptedRunError(CoreError):
    """Raised by `Reporter.pulse` after a pause, a cancel or an early result was requested.

    `request` says which.
    """

    def __init__(self, request: str) -> None:
        self.request = request
        super().__init__(f"stopped on request: {request}")


def as_written(value: object) -> str:
    """A value as JSON writes it, a text in quotes: for error messages, at most 80 characters.

    >>> as_written({"ports": 4}), as_written("four")
    ('{"ports": 4}', "'four'")
    """
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text[:80]
