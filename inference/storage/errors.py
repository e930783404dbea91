"""Errors of storing and loading rows; their messages say what is wrong, where, and what is expected.

ExchangeError               (inference.formats.problems)
├── UnknownNameError      no row has the requested name
├── NameInUseError        another row has the name of a new row
├── MissingSchemesError   values name schemes that the instruction set lacks
└── RefusedError          a file has problems, or nothing to import
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from inference.formats.problems import ExchangeError


class UnknownNameError(ExchangeError):
    """No row of this kind has the name. `nearest`: similar names."""

    def __init__(self, kind: str, name: str, nearest: Sequence[str]) -> None:
        self.kind = kind
        self.name = name
        self.nearest = tuple(nearest)
        hint = (
            f"did you mean {', '.join(repr(near) for near in nearest)}?" if nearest else "there is none yet"
        )
        super().__init__(f"there is no {kind} named {name!r}: {hint}")


class NameInUseError(ExchangeError):
    """Another row has the name. `suggestion`: a free name."""

    def __init__(self, kind: str, name: str, suggestion: str) -> None:
        self.kind = kind
        self.name = name
        self.suggestion = suggestion
        super().__init__(f"another {kind} is named {name!r}: choose another name, e.g. {suggestion!r}")


class MissingSchemesError(ExchangeError):
    """Experiments or a mapping have schemes that the instruction set lacks."""

    def __init__(self, isa: str, schemes: Iterable[str]) -> None:
        self.isa = isa
        self.schemes = tuple(sorted(set(schemes)))
        listed = "; ".join(self.schemes[:5]) + (" …" if len(self.schemes) > 5 else "")
        super().__init__(f"{len(self.schemes)} scheme(s) are not in the instruction set {isa}: {listed}")


class RefusedError(ExchangeError):
    """The file has problems (or nothing to import), so nothing was stored."""
