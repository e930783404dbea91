"""What a file says, before its scheme names are looked up in an instruction set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inference.core.mapping import Uops
from inference.core.protocols import Json
from inference.core.resources import Loads
from inference.formats.problems import Problems, excerpt
from inference.isa.scheme import Features

NAME_LENGTH = 200  # characters of a scheme's text, as the column has it
NOTE_LENGTH = 500
EXPERIMENT_LENGTH = 10_000  # instructions in one experiment; a loop body is far shorter
ENTRY_LIMIT = 200_000  # experiments or schemes in one file; more should be several files
PART = "part"
"""The fact that says which part was read of a file that has several."""
NO_NUMBERS: Mapping[str, float] = {}
"""What most experiments of a large file have: one for all of them."""
CYCLES_RANGE = (1e-6, 1e9)  # outside of this, no loop body was measured


def _no_numbers() -> Mapping[str, float]:
    return NO_NUMBERS


@dataclass(frozen=True, slots=True)
class ExperimentEntry:
    """One experiment as written; `terms` are (scheme name, multiplicity), `cycles` per execution."""

    row: int
    column: str
    terms: tuple[tuple[str, int], ...]
    cycles: float
    note: str = ""
    annotations: Mapping[str, float] = field(default_factory=_no_numbers)
    counters: Mapping[str, float] = field(default_factory=_no_numbers)


@dataclass(frozen=True, slots=True)
class UsageEntry:
    """The µops of one scheme as written; masks refer to the document's ports. `slots`: issue slots."""

    row: int
    column: str
    scheme: str
    uops: Uops
    slots: int = 1


@dataclass(frozen=True, slots=True)
class VerdictEntry:
    """What explainable inference said of one scheme, as written.

    `uops` is None for one that it could not characterise. `cycles` alone, `counted` µops, None where the file
    has no such numbers.
    """

    row: int
    column: str
    scheme: str
    uops: Uops | None
    cycles: float | None = None
    counted: float | None = None


@dataclass(frozen=True, slots=True)
class LoadEntry:
    """The loads of one scheme as written; indices refer to the document's resources.

    `called` is the instruction that the loads are from, where that is not the scheme's own name.
    """

    row: int
    column: str
    scheme: str
    loads: Loads
    called: str = ""


@dataclass(frozen=True, slots=True)
class PairEntry:
    """A latency in cycles, as written: from an operand to another, named as `ChainLink` does.

    `least` and `most`, or `at_most` where only a bound is known, and `why`. `breaks`: it waits for nothing.
    """

    source: str
    destination: str
    least: float | None = None
    most: float | None = None
    at_most: float | None = None
    why: str = ""
    breaks: bool = False

    def as_json(self) -> Json:
        """As `PairLatency.as_json` has it, without chains."""
        return {
            "source": self.source,
            "destination": self.destination,
            "least": self.least,
            "most": self.most,
            "at_most": self.at_most,
            "why": self.why,
            "throughput_limited": False,
            "breaks": self.breaks,
            "values": [],
            "chains": [],
        }


@dataclass(frozen=True, slots=True)
class LatencyEntry:
    """The latencies of one scheme as written."""

    row: int
    column: str
    scheme: str
    pairs: tuple[PairEntry, ...]


@dataclass(frozen=True)
class Document:
    """The content of a file. `facts` is what a preview shows about it: units, tools, names it mentions.

    `refused` are the scheme names of entries that something else is wrong with, as (name, row, column): so
    that one look at a file finds all that is wrong with it. `broken` is the number of experiments that are
    not there because of problems of their own, `row_problems` how many problems these have. Of a `partial`
    document, loads, usages, latencies and verdicts without a scheme are left out, and experiments too; of all
    others, an unknown name is a problem. `dropped` are entries of it that bring nothing whatever the
    instruction set, {name: why}. `features` by scheme name describe the schemes of an instruction set that
    the file founds.
    Where there are `verdicts`, `usages` are those of the schemes that they characterise.
    """

    experiments: tuple[ExperimentEntry, ...] = ()
    refused: tuple[tuple[str, int, str], ...] = ()
    broken: int = 0
    row_problems: int = 0
    usages: tuple[UsageEntry, ...] = ()
    verdicts: tuple[VerdictEntry, ...] = ()
    loads: tuple[LoadEntry, ...] = ()
    latencies: tuple[LatencyEntry, ...] = ()
    resources: tuple[str, ...] = ()
    partial: bool = False
    dropped: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[str, ...] = ()
    r_max: float | None = None
    issue_width: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    features: Mapping[str, Features] = field(default_factory=dict)


def check_name(name: object, problems: Problems, *, row: int | None, column: str) -> str | None:
    """A scheme's (or tool's) name without outer blanks, or None after noting what is wrong with it."""
    if not isinstance(name, str):
        problems.add(f"a name cannot be {excerpt(name)}", "a text is expected", row=row, column=column)
        return None
    cleaned = name.strip()
    if not cleaned:
        problems.add("the name is empty", "write the scheme's text", row=row, column=column)
    elif len(cleaned) > NAME_LENGTH:
        problems.add(
            f"{excerpt(cleaned)} has {len(cleaned)} characters",
            f"a name has at most {NAME_LENGTH}",
            row=row,
            column=column,
        )
    elif not cleaned.isprintable():
        problems.add(
            f"{excerpt(cleaned)} holds characters that cannot be printed",
            "a name consists of printable characters",
            row=row,
            column=column,
        )
    else:
        return cleaned
    return None


def check_cycles(value: float, problems: Problems, *, row: int | None, column: str) -> float | None:
    """The number of cycles, or None after noting why it cannot be one."""
    low, high = CYCLES_RANGE
    if math.isfinite(value) and low <= value <= high:
        return value
    problems.add(
        f"{value!r} cannot be a number of cycles" if math.isfinite(value) else f"{value!r} is not finite",
        f"a number from {low:g} to {high:g} is expected",
        row=row,
        column=column,
    )
    return None


def check_length(length: int, problems: Problems, *, row: int | None, column: str) -> bool:
    """Whether an experiment of so many instructions is possible; notes the problem where it is not."""
    if 1 <= length <= EXPERIMENT_LENGTH:
        return True
    said = "is empty" if length < 1 else "is too long"
    problems.add(
        f"the experiment {said}",
        f"1 to {EXPERIMENT_LENGTH} instructions are expected",
        row=row,
        column=column,
    )
    return False


def check_note(note: object, problems: Problems, *, row: int | None, column: str) -> str | None:
    """A note that the database can hold, or None after noting the problem."""
    if not isinstance(note, str):
        problems.add(f"a note cannot be {excerpt(note)}", "a text is expected", row=row, column=column)
    elif len(note) > NOTE_LENGTH:
        problems.add(
            f"the note has {len(note)} characters",
            f"a note has at most {NOTE_LENGTH}",
            row=row,
            column=column,
        )
    elif not all(char.isprintable() or char in "\t\n\r" for char in note):
        problems.add(
            f"the note {excerpt(note)} holds characters that cannot be printed",
            "a note consists of printable characters",
            row=row,
            column=column,
        )
    else:
        return note
    return None
