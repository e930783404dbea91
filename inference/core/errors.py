"""Errors of the core, each saying what, where, and what would be right.

CoreError
├── InvalidInputError (also a ValueError)   a value that no mapping, experiment or setting can have
│   └── UnknownSchemeError                  an experiment names a scheme that the mapping lacks
├── InsufficientDataError                   too little measured data for what was asked
├── MeasuringError                          a machine cannot measure at all, whatever it is asked
└── InterruptedRunError                     somebody asked the search to stop; its checkpoint stands
"""

from __future__ import annotations

import json
from collections.abc import Iterable


class CoreError(Exception):
    """Anything the core raises on purpose."""


class InvalidInputError(CoreError, ValueError):
    """A value outside its domain; the message names the culprit."""


class UnknownSchemeError(InvalidInputError):
    """An experiment names schemes that the port mapping does not know."""

    def __init__(self, schemes: Iterable[str]) -> None:
        self.schemes = tuple(sorted(set(schemes)))
        shown = "; ".join(self.schemes[:5]) + (" …" if len(self.schemes) > 5 else "")
        super().__init__(f"{len(self.schemes)} scheme(s) without a port usage in this mapping: {shown}")


class InsufficientDataError(CoreError):
    """The measurements at hand cannot answer the question."""


class MeasuringError(CoreError):
    """Measuring as a whole is impossible; the message says why and what would help."""


KEEP = "keep"
"""The wish to stop with the best that there is; a search that can answers it, others are interrupted."""


class InterruptedRunError(CoreError):
    """Raised by `Reporter.pulse` when a pause, a cancel or a result at once was asked for."""

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted
        super().__init__(f"stopped: {wanted} was asked for")


def as_written(value: object) -> str:
    """A value that came in, as JSON has it, but for texts in quotes of their own; 80 characters at most."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text[:80]
