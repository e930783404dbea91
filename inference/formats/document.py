"""The content of an imported file before its scheme names are resolved: the common result of all readers.

`FileExperiments` are its experiments once they are. Checks of single values that readers share are here as
well.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, overload

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.mapping import Uops
from inference.core.protocols import Json
from inference.core.resources import Loads
from inference.formats.doubts import DoubtList, OddKind, contradiction, differ
from inference.formats.problems import FilePlace, Problems, excerpt
from inference.isa.scheme import Features

NAME_LENGTH = 200  # characters of a scheme's text, as the column has it
NOTE_LENGTH = 500  # characters
EXPERIMENT_LENGTH = 10_000  # instructions in one experiment; a loop body is far shorter
ENTRY_LIMIT = 200_000  # experiments or schemes in one file; more should be several files
PART = "part"
"""Key of the facts: which part of a file with several parts was read."""

NO_NUMBERS: Mapping[str, float] = {}
"""Shared by all experiments without numbers: in a large file these are most."""

CYCLES_RANGE = (1e-6, 1e9)  # per execution; outside of it, a number is no measurement of a loop body


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
    settled: bool = True
    """False where another row of the file has another number for the same: neither is used."""


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
    """The verdict of explainable inference on one scheme, as written.

    Attributes:
        uops: None where it could not characterise the scheme.
        cycles: Cycles of one instance alone.
        counted: µops by a performance counter; None where the file lacks them.
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

    `called`: the file's name of the instruction, where it is not the scheme's.
    """

    row: int
    column: str
    scheme: str
    loads: Loads
    called: str = ""


@dataclass(frozen=True, slots=True)
class PairEntry:
    """Latency in cycles between two operands, as written; operands are named as in `ChainLink`.

    Either `least` and `most`, or an upper bound `at_most` with its reason `why`. `breaks`: the destination
    does not wait for the source.
    """

    source: str
    destination: str
    least: float | None = None
    most: float | None = None
    at_most: float | None = None
    why: str = ""
    breaks: bool = False

    def as_json(self) -> Json:
        """The JSON of `PairLatency.as_json`, without chains."""
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
    row: int
    column: str
    scheme: str
    pairs: tuple[PairEntry, ...]


@dataclass(frozen=True)
class Document:
    """The content of a file, scheme names as written.

    Attributes:
        refused: (scheme name, row, column) of entries with other problems, so that one preview reports
        unknown
            names in them as well.
        broken: Experiments that are missing because of problems of their own.
        row_problems: Number of these problems.
        partial: Entries whose scheme is unknown are left out; otherwise an unknown name is a problem.
        dropped: {entry: reason} of entries that cannot be used with any instruction set.
        facts: For the preview: units, tools, microarchitectures, proposed name.
        features: {scheme name: features}, for a new instruction set made from the file.
        verdicts: Where present, `usages` are those of the schemes that they characterise.
        doubts: Implausible values, besides those that `file_numbers.doubts_of` finds.
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
    doubts: tuple[OddKind, ...] = ()

    def mentions(self) -> Iterable[tuple[str, int, str]]:
        """(scheme name, row, column) of every place where an unknown name is a problem."""
        if not self.partial:
            for experiment in self.experiments:
                for name, _ in experiment.terms:
                    yield name, experiment.row, experiment.column
            entries: Iterable[UsageEntry | VerdictEntry | LoadEntry] = chain(
                self.usages, self.verdicts, self.loads
            )
            for entry in entries:
                yield entry.scheme, entry.row, entry.column
        yield from self.refused


def experiment_of_entry(entry: ExperimentEntry, texts: Mapping[str, str]) -> Experiment:
    """The experiment of an entry; counts of names for the same scheme add up. `texts`: {name: scheme}."""
    counts: dict[str, int] = {}
    for name, count in entry.terms:
        text = texts[name]
        counts[text] = counts.get(text, 0) + count
    return Experiment(tuple(sorted(counts.items())))


class FileExperiments(Sequence[Measured]):
    """Measurements of a file, made on access: a `Measured` takes several times the memory of its entry."""

    def __init__(self, entries: Sequence[ExperimentEntry], texts: Mapping[str, str]) -> None:
        self._entries = entries
        self._texts = texts

    @overload
    def __getitem__(self, index: int) -> Measured: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Measured]: ...

    def __getitem__(self, index: int | slice) -> Measured | Sequence[Measured]:
        if isinstance(index, slice):
            return [self._value(entry) for entry in self._entries[index]]
        return self._value(self._entries[index])

    def __iter__(self) -> Iterator[Measured]:
        return map(self._value, self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def cycles(self) -> list[float]:
        return [entry.cycles for entry in self._entries]

    @cached_property
    def rows(self) -> list[int]:
        """Row of each measurement in the file, from 1."""
        return [entry.row for entry in self._entries]

    @property
    def written_terms(self) -> Iterator[tuple[tuple[str, int], ...]]:
        """Each experiment's terms as written, sorted: equal for equal experiments."""
        return (tuple(sorted(entry.terms)) for entry in self._entries)

    @cached_property
    def lengths(self) -> list[int]:
        return [sum(count for _, count in entry.terms) for entry in self._entries]

    @cached_property
    def schemes(self) -> tuple[str, ...]:
        """The distinct schemes, in the order of their first occurrence."""
        names = dict.fromkeys(name for entry in self._entries for name, _ in entry.terms)
        return tuple(dict.fromkeys(self._texts[name] for name in names))

    def _value(self, entry: ExperimentEntry) -> Measured:
        return Measured(
            experiment_of_entry(entry, self._texts),
            entry.cycles,
            MeasurementState.SETTLED if entry.settled else MeasurementState.UNSETTLED,
            note=entry.note,
            annotations=entry.annotations,
            counters=entry.counters,
        )


def partial_document(
    problems: Problems,
    facts: Mapping[str, Any],
    dropped: Mapping[str, str],
    *,
    experiments: Iterable[ExperimentEntry] = (),
    latencies: Iterable[LatencyEntry] = (),
    doubts: tuple[OddKind, ...] = (),
) -> Document:
    """A document of instructions of which some have no scheme; notes a problem where none can be used.

    Args:
        problems: Problems of the file.
        facts: Facts of the document; `instructions` in them overrides the count.
        dropped: {instruction: why it cannot be used}.
        experiments: Experiments in cycles.
        latencies: Per scheme.
        doubts: Implausible values.
    """
    measured, timed = tuple(experiments), tuple(latencies)
    total = len(measured) + len(timed) + len(dropped)
    if total == len(dropped) and not problems:
        note_nothing_imported(dropped, problems)
    all_facts = {"instructions": total, **({"units": ["cycles"]} if measured else {}), **facts}
    return Document(
        experiments=measured, latencies=timed, partial=True, dropped=dropped, facts=all_facts, doubts=doubts
    )


def with_contradictions(entries: Iterable[ExperimentEntry]) -> tuple[ExperimentEntry, ...]:
    """All entries; those whose numbers for the same terms differ are not settled, and say which others."""
    by_terms: dict[tuple[tuple[str, int], ...], list[ExperimentEntry]] = {}
    for entry in entries:
        by_terms.setdefault(entry.terms, []).append(entry)
    return tuple(
        _with_contradiction(entry, duplicates) for duplicates in by_terms.values() for entry in duplicates
    )


def with_second_values(
    entry: LatencyEntry, pairs: Iterable[PairEntry], row: int, doubts: DoubtList
) -> LatencyEntry:
    """A scheme's latencies with those of another row: of two numbers for one pair, the range of both.

    Args:
        entry: Latencies of the first row.
        pairs: Those of the other row; its upper bounds count where a pair has no number.
        row: Number of the other row, for the doubts.
        doubts: Receives a doubt for each pair of different numbers.
    """
    merged = {(pair.source, pair.destination): pair for pair in entry.pairs}
    for pair in pairs:
        first = merged.setdefault((pair.source, pair.destination), pair)
        if pair.most is None or pair.least is None:
            continue
        if first.most is None or first.least is None:
            merged[pair.source, pair.destination] = pair
            continue
        if differ(pair.most, first.most):
            why = contradiction(pair.most, first.most, f"row {entry.row}")
            doubts.add("with another latency of the same operands", why, row, entry.scheme, pair.most)
        lowest, highest = min(first.least, pair.least), max(first.most, pair.most)
        merged[pair.source, pair.destination] = replace(first, least=lowest, most=highest)
    return replace(entry, pairs=tuple(merged.values()))


def _with_contradiction(entry: ExperimentEntry, duplicates: Sequence[ExperimentEntry]) -> ExperimentEntry:
    other = next((other for other in duplicates if differ(other.cycles, entry.cycles)), None)
    if other is None:
        return entry
    note = f"{entry.note}; {contradiction(entry.cycles, other.cycles, other.column)}".removeprefix("; ")
    return replace(entry, settled=False, note=note[:NOTE_LENGTH])


def note_nothing_imported(dropped: Mapping[str, str], problems: Problems) -> None:
    """Note as a problem that no instruction of a file can be imported, with the most frequent reason."""
    why = Counter(dropped.values()).most_common(1)
    most_frequent = f": of most, {why[0][0]}" if why else ""
    problems.add(
        f"none of its {len(dropped):,} instructions can be imported{most_frequent}",
        "a file with numbers for instructions of x86-64 or AArch64 is expected",
    )


def check_name(name: object, place: FilePlace) -> str | None:
    """A scheme's or tool's name without outer blanks; None after noting a problem."""
    if not isinstance(name, str):
        place.add(f"a name cannot be {excerpt(name)}", "a text is expected")
        return None
    cleaned = name.strip()
    if not cleaned:
        place.add("the name is empty", "write the scheme's text")
    elif len(cleaned) > NAME_LENGTH:
        place.add(f"{excerpt(cleaned)} has {len(cleaned)} characters", f"a name has at most {NAME_LENGTH}")
    elif not cleaned.isprintable():
        unprintable = f"{excerpt(cleaned)} holds characters that cannot be printed"
        place.add(unprintable, "a name consists of printable characters")
    else:
        return cleaned
    return None


def check_cycles(value: float, place: FilePlace) -> float | None:
    """The number if it is within `CYCLES_RANGE`; None after noting a problem."""
    low, high = CYCLES_RANGE
    if math.isfinite(value) and low <= value <= high:
        return value
    fault = "cannot be a number of cycles" if math.isfinite(value) else "is not finite"
    place.add(f"{value!r} {fault}", f"a number from {low:g} to {high:g} is expected")
    return None


def check_length(length: int, place: FilePlace) -> bool:
    """Whether an experiment may have this many instructions; notes a problem where not."""
    if 1 <= length <= EXPERIMENT_LENGTH:
        return True
    fault = "is empty" if length < 1 else "is too long"
    place.add(f"the experiment {fault}", f"1 to {EXPERIMENT_LENGTH} instructions are expected")
    return False


def check_note(note: str, place: FilePlace) -> str | None:
    """The note if it fits the database column; None after noting a problem."""
    if len(note) > NOTE_LENGTH:
        place.add(f"the note has {len(note)} characters", f"a note has at most {NOTE_LENGTH}")
    elif not all(char.isprintable() or char in "\t\n\r" for char in note):
        unprintable = f"the note {excerpt(note)} holds characters that cannot be printed"
        place.add(unprintable, "a note consists of printable characters")
    else:
        return note
    return None
