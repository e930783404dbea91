"""How loop bodies of experiments are made, as far as a user may choose it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

INSTRUCTIONS = 100
FEWEST, MOST = 20, 400

WRITTEN_LINES = 20
"""Cache lines that mere writes take turns in: far more than are written within five cycles. The number suits
bodies of 100 instructions, in which the turns begin anew with every iteration."""
FEWEST_WRITTEN_LINES = 8
"""Of a core that takes longer over more (Zen 5: over 13 twice as long as over 12)."""

USUAL = "usual"
ZERO = "zero"
VALUES = {
    USUAL: "small odd numbers, floats of 1.1",
    ZERO: "zero everywhere",
    "one": "one, floats next to 1",
    "large": "near the largest, floats of 9e37",
    "random": "bits as by chance, floats of 1.2 and 1.4",
}
"""{class of values that registers and memory hold: what it is}; "usual" is what everything is measured with
unless something else is asked for."""


@dataclass(frozen=True)
class Options:
    """How loop bodies are made, as far as a user may choose it.

    `instructions`: about how many an unrolled body has. `breaking`: other instructions break dependencies of
    hard-wired operands (`inference.isa.breakers`), and are measured along. `values`: a key of `VALUES`.
    `least_bytes`: of an instruction of x86-64, shorter ones get prefixes that change nothing; 0 for none.
    `written_lines`: that mere stores take turns in, None for the usual number.
    """

    instructions: int = INSTRUCTIONS
    breaking: bool = False
    values: str = USUAL
    least_bytes: int = 0
    written_lines: int | None = None

    def as_json(self) -> dict[str, Any]:
        """What differs from the defaults."""
        return {name: value for name, value in vars(self).items() if value != getattr(Options, name)}

    @property
    def of_bodies(self) -> dict[str, Any]:
        """The keyword arguments with which bodies are unrolled; `values` are those of the frame."""
        chosen = {name: getattr(self, name) for name in ("instructions", "breaking", "least_bytes")}
        return chosen if self.written_lines is None else {**chosen, "written_lines": self.written_lines}


DEFAULTS = Options()
