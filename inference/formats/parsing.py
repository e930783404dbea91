"""Parses files into values that can be stored, or into a list of problems; without a database.

`import_formats.read` reads the format, `resolve` maps scheme names to schemes. Neither raises for a file's
content.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from inference.core.experiment import Experiment, Measured, Unit
from inference.core.mapping import PortMapping
from inference.core.resources import MAX_LOADS, Loads, ResourceMapping
from inference.formats.document import (
    Document,
    ExperimentEntry,
    FileExperiments,
    LatencyEntry,
    LoadEntry,
    UsageEntry,
    VerdictEntry,
    experiment_of_entry,
)
from inference.formats.doubts import OddKind, difference, latency_doubts
from inference.formats.file_formats import FileContent, Format
from inference.formats.file_numbers import FileUnit
from inference.formats.import_formats import ParsedFile, read
from inference.formats.problems import FileProblem, Problems, excerpt
from inference.isa.scheme import Features

FOREIGN = 5  # unknown names; where most names are unknown, the file is probably of another instruction set
NEAREST = 3
"""Known schemes that are suggested for an unknown name."""


NO_SCHEME = "the instruction set has no such scheme"


class Names(Protocol):
    """Maps the names in files to the schemes of an instruction set."""

    def resolve(self, name: str) -> str | None:
        """The scheme's text, None for an unknown name."""

    def nearest(self, name: str, n: int = 1) -> list[str]:
        """Up to n known texts that resemble the name."""


class AnyNames:
    """Accepts every name as a scheme: for the first file of a new instruction set."""

    def resolve(self, name: str) -> str:
        return name

    def nearest(self, name: str, n: int = 1) -> list[str]:
        del name, n
        return []


@dataclass(frozen=True)
class UnknownName:
    """A name without a scheme. `row`, `column`: its first place; `rows`: how many; `nearest`: suggestions."""

    name: str
    row: int
    column: str
    rows: int
    nearest: tuple[str, ...]


@dataclass(frozen=True)
class Parsed:
    """A file with its scheme names resolved: values to be stored, or problems that prevent it.

    Attributes:
        verdicts: Verdicts on the mapping's schemes, and on schemes that could not be characterised.
        left_out: {instruction: reason} of a partial document's instructions that cannot be used.
        merged: {scheme: names} of the file that mean the same scheme.
        unknown: Names without a scheme.
        broken: Rows with problems of their own or with unknown names.
        left: Rows without.
        blocking: Problems that prevent the import: all, or, where broken rows are left out, those of no row.
        row_problems: Problems that belong to broken rows.
    """

    file_name: str
    format: Format | None
    measured: Sequence[Measured] = ()
    mapping: PortMapping | None = None
    verdicts: Mapping[str, VerdictEntry] = field(default_factory=dict)
    resources: ResourceMapping | None = None
    latencies: Mapping[str, LatencyEntry] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    merged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unknown: tuple[UnknownName, ...] = ()
    broken: int = 0
    blocking: int = 0
    left: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)
    features: Mapping[str, Features] = field(default_factory=dict)
    problems: tuple[FileProblem, ...] = ()
    problem_count: int = 0
    row_problems: int = 0
    doubts: tuple[OddKind, ...] = ()

    @property
    def can_leave_out(self) -> bool:
        """Whether the file can be imported without its broken rows."""
        return bool(self.broken and self.left) and self.problem_count == self.row_problems

    @property
    def content(self) -> FileContent | None:
        return None if self.format is None else self.format.content

    @property
    def schemes(self) -> tuple[str, ...]:
        """The distinct schemes, in the order of their first occurrence."""
        if self.mapping is not None:
            return tuple(self.verdicts or self.mapping.usage)
        if self.resources is not None:
            return tuple(self.resources.loads)
        if self.latencies:
            return tuple(self.latencies)
        return self.measured.schemes if isinstance(self.measured, FileExperiments) else ()

    def lines(self) -> list[str]:
        """The problems, one line each, and a last line for those that are only counted."""
        lines = [problem.line(self.file_name) for problem in self.problems]
        hidden = self.problem_count - len(self.problems)
        return [*lines, f"{self.file_name}: {hidden} more problems"] if hidden else lines


def parse(content: bytes, file_name: str, names: Names, unit: FileUnit | Unit = FileUnit.CYCLES) -> Parsed:
    """Read a file and resolve its scheme names.

    Args:
        content: The file.
        file_name: Name of the file, for messages.
        names: Schemes of the instruction set.
        unit: Unit of numbers for which the file names none.
    """
    return resolve(read(content, file_name, unit), names)


def resolve(
    file: ParsedFile, names: Names, *, substitutes: Mapping[str, str] | None = None, leave_out: bool = False
) -> Parsed:
    """Replace a file's names by schemes; unknown and contradicting ones become problems.

    Args:
        file: The file as read.
        names: Schemes of the instruction set.
        substitutes: {unknown name: scheme} to use instead.
        leave_out: Leave out experiments with problems instead of refusing the file.
    """
    document = file.document
    problems = Problems(list(file.problems), file.problem_count)
    texts = _texts(file, names, substitutes or {})
    unknown, unknown_count = _unknown_names(document, texts, names, problems)
    text_by_name = {name: text for name, text in texts.items() if text is not None}
    merged: dict[str, tuple[str, ...]] = {}
    for name, text in text_by_name.items():
        merged[text] = (*merged.get(text, ()), name)
    exclusions = dict(document.dropped)
    known_names = _KnownNames(text_by_name, document.partial, problems, exclusions)
    mapping = _mapping(document, known_names)
    verdicts = _verdicts(document, text_by_name, exclusions)
    loads = _loads(document, known_names)
    latencies = _first_by_scheme(document.latencies, "latencies", id, known_names)
    experiments = _known_experiments(document, text_by_name, problems, exclusions, unknown_count)
    row_problems = document.row_problems
    if document.experiments and not document.partial:
        row_problems += unknown_count
    broken = document.broken + len(document.experiments) - len(experiments)
    blocking = problems.count - row_problems if leave_out and experiments else problems.count
    _add_nearest_schemes(exclusions, names)
    features = document.features
    loads_of = ((text, entry.row, pair) for text, entry in latencies.items() for pair in entry.pairs)
    return Parsed(
        file_name=file.file_name,
        format=file.format,
        measured=() if blocking or not experiments else FileExperiments(experiments, text_by_name),
        mapping=None if problems else mapping,
        verdicts={} if problems else verdicts,
        resources=ResourceMapping(document.resources, loads) if loads and not problems else None,
        latencies={} if problems else latencies,
        left_out=exclusions,
        merged={text: written for text, written in merged.items() if len(written) > 1}
        if not document.partial
        else {},
        unknown=unknown,
        broken=0 if document.partial else broken,
        blocking=blocking,
        left=len(experiments),
        facts=document.facts,
        features={text: features[name] for name, text in reversed(text_by_name.items()) if name in features},
        problems=tuple(sorted(problems.listed, key=lambda problem: problem.row or 0)),
        problem_count=problems.count,
        row_problems=row_problems,
        doubts=(*document.doubts, *latency_doubts(loads_of)),
    )


def _texts(reading: ParsedFile, names: Names, substitutes: Mapping[str, str]) -> dict[str, str | None]:
    """{name in the file: scheme}, None for an unknown name without a substitute."""
    texts: dict[str, str | None] = {}
    for name in reading.scheme_names:
        text = names.resolve(name)
        texts[name] = names.resolve(substitutes[name]) if text is None and name in substitutes else text
    return texts


HINTS = 200  # instructions without a scheme that get the nearest one; of more, the file is about others


def _add_nearest_schemes(exclusions: dict[str, str], names: Names) -> None:
    """Add the nearest scheme to the reasons of instructions without one."""
    unknown = [name for name, why in exclusions.items() if why == NO_SCHEME]
    for name in unknown[:HINTS]:
        if nearest := names.nearest(name):
            exclusions[name] = f"{NO_SCHEME}; the nearest is {nearest[0]}"


Entry = TypeVar("Entry", UsageEntry, LoadEntry, LatencyEntry)


@dataclass(frozen=True)
class _KnownNames:
    """{name: scheme} of a file; `problems` and `left_out` collect why entries cannot be used."""

    texts: Mapping[str, str]
    partial: bool
    problems: Problems
    left_out: dict[str, str]


def _known_experiments(
    document: Document,
    texts: Mapping[str, str],
    problems: Problems,
    exclusions: dict[str, str],
    unknown_count: int,
) -> Sequence[ExperimentEntry]:
    """Experiments whose schemes are known; of several names of one in a partial document, the first's."""
    if not document.partial:
        if unknown_count:
            schemes = texts.keys()
            return [entry for entry in document.experiments if schemes >= {name for name, _ in entry.terms}]
        return document.experiments
    first: dict[Experiment, ExperimentEntry] = {}
    usable: list[ExperimentEntry] = []
    for entry in document.experiments:
        unknown = [name for name, _ in entry.terms if name not in texts]
        exclusions.update(dict.fromkeys(unknown, NO_SCHEME))
        if unknown:
            continue
        meant = experiment_of_entry(entry, texts)
        earlier = first.setdefault(meant, entry)
        if earlier.terms == entry.terms:
            usable.append(entry)
        else:
            written, first_written = ("; ".join(name for name, _ in item.terms) for item in (entry, earlier))
            time = f"{first_written}{difference(entry.cycles, earlier.cycles)}"
            exclusions[written] = f"{meant} has the time of {time}"
    if document.experiments and not first:
        _note_unknown(len(exclusions), problems)
    return usable


def _first_by_scheme(
    entries: Sequence[Entry], noun: str, value_of: Callable[[Entry], object], names: _KnownNames
) -> dict[str, Entry]:
    """{scheme: entry}. Two names of one scheme must agree on its value, which messages call `what`.

    In a partial document the first counts, and the others are left out with the reason.
    """
    first: dict[str, Entry] = {}
    for entry in entries:
        text = names.texts.get(entry.scheme)
        if text is None:
            if names.partial:
                names.left_out.setdefault(_label(entry), NO_SCHEME)
            continue
        earlier = first.setdefault(text, entry)
        if value_of(earlier) == value_of(entry):
            continue
        if names.partial:
            names.left_out[_label(entry)] = f"{text} has the {noun} of {_label(earlier)}"
        else:
            names.problems.add(
                f"{excerpt(earlier.scheme)} and {excerpt(entry.scheme)} are one scheme with different {noun}",
                f"keep one of them for {text!r}, or import the file as a new instruction set",
                row=entry.row,
                column=entry.column,
            )
    if entries and not first and names.partial:
        _note_unknown(len(names.left_out), names.problems)
    return first


def _label(entry: UsageEntry | LoadEntry | LatencyEntry) -> str:
    """The file's name of the instruction."""
    return entry.called or entry.scheme if isinstance(entry, LoadEntry) else entry.scheme


def _mapping(document: Document, names: _KnownNames) -> PortMapping | None:
    first = _first_by_scheme(document.usages, "µops", lambda usage: (usage.uops, usage.slots), names)
    if not first:
        return None
    return PortMapping(
        ports=document.ports,
        usage={text: usage.uops for text, usage in first.items()},
        r_max=document.r_max,
        issue_width=document.issue_width,
        slots={text: usage.slots for text, usage in first.items()},
    )


def _loads(document: Document, names: _KnownNames) -> dict[str, Loads]:
    """{scheme: loads}; notes a problem beyond `MAX_LOADS`.

    A name whose loads equal those of its scheme is not reported as left out, even if it is not the first.
    """
    first = _first_by_scheme(document.loads, "loads", lambda entry: entry.loads, names)
    # A class is written once and may have thousands of schemes: a small file can expand to very many loads.
    if (total := sum(len(entry.loads) for entry in first.values())) > MAX_LOADS:
        fault, right = f"{total:,} loads of {len(first):,} schemes", f"at most {MAX_LOADS:,} are read"
        names.problems.add(fault, right, column="loads")
    for entry in document.loads:
        text = names.texts.get(entry.scheme)
        if text is not None and first[text].loads == entry.loads:
            names.left_out.pop(_label(entry), None)
    return {text: entry.loads for text, entry in first.items()}


def _verdicts(
    document: Document, texts: Mapping[str, str], exclusions: dict[str, str]
) -> dict[str, VerdictEntry]:
    """{scheme: verdict}; of several names of one scheme, the first characterised one, as in the mapping."""
    verdicts: dict[str, VerdictEntry] = {}
    for verdict in sorted(document.verdicts, key=lambda entry: entry.uops is None):
        text = texts.get(verdict.scheme)
        if text is None:
            exclusions[verdict.scheme] = NO_SCHEME
        elif verdicts.setdefault(text, verdict).uops != verdict.uops:
            exclusions[verdict.scheme] = f"{text} has the verdict on {verdicts[text].scheme}"
    return dict(sorted(verdicts.items(), key=lambda item: item[1].row))


def _note_unknown(instructions: int, problems: Problems) -> None:
    problems.add(
        f"none of the {instructions} instructions is known",
        "choose the instruction set that the file is about, or import it as a new one",
    )


def _unknown_names(
    document: Document, texts: Mapping[str, str | None], names: Names, problems: Problems
) -> tuple[tuple[UnknownName, ...], int]:
    """Note a problem per unknown name, at its first place: (names listed in full, number of all).

    `texts`: {name: scheme}, None for an unknown one.
    """
    if None not in texts.values():
        return (), 0
    mentions: dict[str, list[tuple[int, str]]] = {}
    for name, row, column in document.mentions():
        if texts[name] is None:
            mentions.setdefault(name, []).append((row, column))
    if len(mentions) >= FOREIGN and len(mentions) * 2 > len(texts):
        problems.add(
            f"{len(mentions)} of {len(texts)} scheme names are unknown",
            "choose the instruction set that the file is about, or import it as a new one",
        )
    unknown = []
    for name, places in mentions.items():
        row, column = min(places)
        if not problems.full:
            nearest = tuple(names.nearest(name, NEAREST))
            unknown.append(UnknownName(name, row, column, len(places), nearest))
        else:
            nearest = ()
        occurrences = f" (in {len(places)} rows)" if len(places) > 1 else ""
        problems.add(
            f"unknown scheme {excerpt(name)}{occurrences}",
            f"the nearest known one is {nearest[0]!r}"
            if nearest
            else "write a scheme of the instruction set",
            row=row,
            column=column,
        )
    return tuple(unknown), len(mentions)
