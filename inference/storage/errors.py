"""Errors of the exchange, each saying what, where, and what would be right.

ExchangeError               (inference.formats.problems)
├── UnknownNameError      no row has the name that was asked for
├── NameInUseError        the name for something new belongs to something else
├── MissingSchemesError   values name schemes that the instruction set lacks
└── RefusedError          a file with problems was to be imported
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from inference.formats.problems import ExchangeError


class UnknownNameError(ExchangeError):
    """No row of this kind has the name; `nearest` are those that come close."""

    def __init__(self, kind: str, name: str, nearest: Sequence[str]) -> None:
        self.kind = kind
        self.name = name
        self.nearest = tuple(nearest)
        hint = (
            f"did you mean {', '.join(repr(near) for near in nearest)}?" if nearest else "there is none yet"
        )
        super().__init__(f"there is no {kind} named {name!r}: {hint}")


class NameInUseError(ExchangeError):
    """A new row cannot have this name; `suggestion` is free."""

    def __init__(self, kind: str, name: str, suggestion: str) -> None:
        self.kind = kind
        self.name = name
        self.suggestion = suggestion
        super().__init__(f"another {kind} is named {name!r}: choose another name, e.g. {suggestion!r}")


class MissingSchemesError(ExchangeError):
    """Experiments or a mapping name schemes that the instruction set does not have."""

    def __init__(self, isa: str, schemes: Iterable[str]) -> None:
        self.isa = isa
        self.schemes = tuple(sorted(set(schemes)))
        listed = "; ".join(self.schemes[:5]) + (" …" if len(self.schemes) > 5 else "")
        super().__init__(f"{len(self.schemes)} scheme(s) are not in the instruction set {isa}: {listed}")


class RefusedError(ExchangeError):
    """The file has problems (or nothing to import), so nothing was stored."""
