"""From the bytes of a file to values that can be stored, or to a list of what is wrong with it. No database.

`read` understands the format, `resolve` looks the scheme names up. Neither raises for what a file says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping
from inference.core.metrics import Unit
from inference.core.resources import MAX_LOADS, Loads, ResourceMapping
from inference.exchange.document import (
    Document,
    ExperimentEntry,
    Features,
    LoadEntry,
    UsageEntry,
    VerdictEntry,
)
from inference.exchange.formats import Content, Format, format_of, known_formats
from inference.exchange.palmed_json import NameList, translated
from inference.exchange.problems import Problem, Problems, excerpt
from inference.exchange.source import read_source

SCHEME_LIMIT = 50_000  # several times what x86-64 has; looking up more would keep a page waiting
FOREIGN = 5  # unknown names; when they are the most, the file is probably about another instruction set


class Names(Protocol):
    """The schemes of an instruction set, found by the names that files use for them."""

    def resolve(self, name: str) -> str | None:
        """The scheme's text, None for an unknown name."""
        ...

    def nearest(self, name: str, n: int = 1) -> list[str]:
        """Up to n known texts that resemble the name."""
        ...


class AnyNames:
    """Takes every name as it is: for the first file of an instruction set that is not known yet."""

    def resolve(self, name: str) -> str:
        """The name itself."""
        return name

    def nearest(self, name: str, n: int = 1) -> list[str]:
        """Nothing: no name is unknown."""
        del name, n
        return []


@dataclass(frozen=True)
class Reading:
    """A file as its format has it, scheme names not looked up yet."""

    file_name: str
    format: Format | None
    document: Document
    problems: tuple[Problem, ...] = ()
    problem_count: int = 0

    def scheme_names(self) -> dict[str, None]:
        """All scheme names of the file, as written, in the order of their first occurrence."""
        names = dict.fromkeys(name for entry in self.document.experiments for name, _ in entry.terms)
        names.update(dict.fromkeys(usage.scheme for usage in self.document.usages))
        names.update(dict.fromkeys(verdict.scheme for verdict in self.document.verdicts))
        names.update(dict.fromkeys(entry.scheme for entry in self.document.loads))
        names.update(dict.fromkeys(name for name, _, _ in self.document.refused))
        return names

    def translated(self, names: NameList) -> Reading:
        """The file with scheme names from a list beside its own."""
        return replace(self, document=translated(self.document, names))


@dataclass(frozen=True)
class Parsed:
    """What a file would bring: `measured`, `mapping` or `resources`, or problems that keep it from that.

    `verdicts` are what the file says of the mapping's schemes, and of those that could not be characterised.
    `merged` lists names of the file that mean the same scheme, {scheme: names}; `left_out` instructions of a
    partial document that bring nothing, {instruction: why}.
    """

    file_name: str
    format: Format | None
    measured: tuple[Measured, ...] = ()
    mapping: PortMapping | None = None
    verdicts: Mapping[str, VerdictEntry] = field(default_factory=dict)
    resources: ResourceMapping | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    merged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    features: Mapping[str, Features] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    problem_count: int = 0

    @property
    def content(self) -> Content | None:
        """What the file brings."""
        return None if self.format is None else self.format.content

    @property
    def schemes(self) -> tuple[str, ...]:
        """The distinct schemes, in the order of their first occurrence."""
        if self.mapping is not None:
            return tuple(self.verdicts or self.mapping.usage)
        if self.resources is not None:
            return tuple(self.resources.loads)
        return tuple(dict.fromkeys(s for result in self.measured for s in result.experiment.schemes))

    def lines(self) -> list[str]:
        """The problems as lines of text, with a last one for those that are only counted."""
        lines = [problem.line(self.file_name) for problem in self.problems]
        hidden = self.problem_count - len(self.problems)
        return [*lines, f"{self.file_name}: {hidden} more problems"] if hidden else lines


def parse(content: bytes, file_name: str, names: Names, unit: Unit = Unit.CYCLES) -> Parsed:
    """Read a file and look its scheme names up."""
    return resolve(read(content, file_name, unit), names)


def read(content: bytes, file_name: str, unit: Unit = Unit.CYCLES, wanted: str = "") -> Reading:
    """Recognise the format of a file and read it; `unit` is that of rows which do not name theirs.

    `wanted`: which part of a file that has several.
    """
    problems = Problems()
    source = read_source(content, file_name, problems)
    if source is not None and wanted:
        source = replace(source, wanted=wanted)
    found = None if source is None else format_of(source)
    document = Document()
    if source is not None and found is None:
        problems.add("the format is not recognised", f"known are {known_formats()}")
    elif source is not None and found is not None:
        document = found.read(source, problems, unit)
    reading = Reading(file_name, found, document, tuple(problems.listed), problems.count)
    different = len(reading.scheme_names())
    if different <= SCHEME_LIMIT:
        return reading
    problems.add(f"{different} different scheme names", f"an instruction set has at most {SCHEME_LIMIT}")
    return Reading(file_name, found, Document(), tuple(problems.listed), problems.count)


def resolve(reading: Reading, names: Names) -> Parsed:
    """Replace the names of the file by scheme texts; unknown and clashing ones become problems."""
    problems = Problems(list(reading.problems), reading.problem_count)
    texts = {name: names.resolve(name) for name in reading.scheme_names()}
    _report_unknown(reading.document, texts, names, problems)
    known = {name: text for name, text in texts.items() if text is not None}
    partial = reading.document.partial
    merged: dict[str, tuple[str, ...]] = {}
    for name, text in known.items():
        merged[text] = (*merged.get(text, ()), name)
    left_out = dict(reading.document.dropped)
    mapping = _mapping(reading.document, known, problems, left_out)
    verdicts = _verdicts(reading.document, known, left_out)
    loads = _loads(reading.document, known, problems, left_out)
    experiments = _known_experiments(reading.document, known, problems, left_out)
    measured = () if problems else _measured(experiments, known)
    _name_nearest(left_out, names)
    features = reading.document.features
    return Parsed(
        file_name=reading.file_name,
        format=reading.format,
        measured=measured,
        mapping=None if problems else mapping,
        verdicts={} if problems else verdicts,
        resources=ResourceMapping(reading.document.resources, loads) if loads and not problems else None,
        left_out=left_out,
        merged={text: written for text, written in merged.items() if len(written) > 1 and not partial},
        facts=reading.document.facts,
        features={text: features[name] for name, text in reversed(known.items()) if name in features},
        problems=tuple(sorted(problems.listed, key=lambda problem: problem.row or 0)),
        problem_count=problems.count,
    )


def _places(document: Document) -> Iterable[tuple[str, int, str]]:
    """(scheme name, row, column) of every mention."""
    if not document.partial:
        for entry in document.experiments:
            for name, _ in entry.terms:
                yield name, entry.row, entry.column
        for said in (*document.usages, *document.verdicts, *document.loads):
            yield said.scheme, said.row, said.column
    yield from document.refused


def _report_unknown(
    document: Document, texts: Mapping[str, str | None], names: Names, problems: Problems
) -> None:
    """One problem per unknown name, at its first place, with the nearest known scheme."""
    mentions: dict[str, list[tuple[int, str]]] = {}
    for name, row, column in _places(document):
        if texts[name] is None:
            mentions.setdefault(name, []).append((row, column))
    if len(mentions) >= FOREIGN and len(mentions) * 2 > len(texts):
        problems.add(
            f"{len(mentions)} of {len(texts)} scheme names are unknown",
            "choose the instruction set that the file is about, or import it as a new one",
        )
    for name, places in mentions.items():
        row, column = min(places)
        nearest = [] if problems.full else names.nearest(name)
        often = f" (in {len(places)} rows)" if len(places) > 1 else ""
        problems.add(
            f"unknown scheme {excerpt(name)}{often}",
            f"the nearest known one is {nearest[0]!r}"
            if nearest
            else "write a scheme of the instruction set",
            row=row,
            column=column,
        )


def _measured(entries: Iterable[ExperimentEntry], texts: Mapping[str, str]) -> tuple[Measured, ...]:
    return tuple(
        Measured(
            _experiment(entry, texts),
            entry.cycles,
            note=entry.note,
            annotations=entry.annotations,
            counters=entry.counters,
        )
        for entry in entries
    )


def _experiment(entry: ExperimentEntry, texts: Mapping[str, str]) -> Experiment:
    counts: dict[str, int] = {}
    for name, count in entry.terms:
        counts[texts[name]] = counts.get(texts[name], 0) + count
    return Experiment.of(counts)


NO_SCHEME = "the instruction set has no such scheme"
HINTS = 200  # instructions without a scheme that get the nearest one; of more, the file is about others


def _name_nearest(left_out: dict[str, str], names: Names) -> None:
    """Say of instructions without a scheme which one comes nearest."""
    unknown = [name for name, why in left_out.items() if why == NO_SCHEME]
    for name in unknown[:HINTS]:
        if nearest := names.nearest(name):
            left_out[name] = f"{NO_SCHEME}; the nearest is {nearest[0]}"


def _known_experiments(
    document: Document, texts: Mapping[str, str], problems: Problems, left_out: dict[str, str]
) -> Iterable[ExperimentEntry]:
    """The experiments to take; those of a partial document need a scheme, and the first of each counts."""
    if not document.partial:
        return document.experiments
    first: dict[Experiment, ExperimentEntry] = {}
    for entry in document.experiments:
        unknown = [name for name, _ in entry.terms if name not in texts]
        left_out.update(dict.fromkeys(unknown, NO_SCHEME))
        if unknown:
            continue
        meant = _experiment(entry, texts)
        if first.setdefault(meant, entry) is not entry:
            written, same = ("; ".join(name for name, _ in each.terms) for each in (entry, first[meant]))
            left_out[written] = f"{meant} has the time of {same}"
    if document.experiments and not first:
        _nothing_known(len(left_out), problems)
    return first.values()


def _mapping(
    document: Document, texts: Mapping[str, str], problems: Problems, left_out: dict[str, str]
) -> PortMapping | None:
    """The mapping of a document; two names of one scheme must agree on its µops.

    In a partial document the first one counts, and the others are left out, with the reason.
    """
    if not document.usages:
        return None
    first: dict[str, UsageEntry] = {}
    for usage in document.usages:
        text = texts.get(usage.scheme)
        if text is None:
            if document.partial:
                left_out[usage.scheme] = NO_SCHEME
            continue
        same = first.setdefault(text, usage)
        if same.uops == usage.uops:
            continue
        if document.partial:
            left_out[usage.scheme] = f"{text} has the µops of {same.scheme}"
        else:
            problems.add(
                f"{excerpt(same.scheme)} and {excerpt(usage.scheme)} are one scheme with different µops",
                f"keep one of them for {text!r}, or import the file as a new instruction set",
                row=usage.row,
                column=usage.column,
            )
    if not first:
        if document.partial:
            _nothing_known(len(left_out), problems)
        return None
    usage_by_scheme = {text: usage.uops for text, usage in first.items()}
    return PortMapping(ports=document.ports, usage=usage_by_scheme, r_max=document.r_max)


def _verdicts(
    document: Document, texts: Mapping[str, str], left_out: dict[str, str]
) -> dict[str, VerdictEntry]:
    """{scheme: verdict}; of two names of one scheme the first characterised one counts, as in the mapping."""
    found: dict[str, VerdictEntry] = {}
    for verdict in sorted(document.verdicts, key=lambda each: each.uops is None):
        text = texts.get(verdict.scheme)
        if text is None:
            left_out[verdict.scheme] = NO_SCHEME
        elif found.setdefault(text, verdict).uops != verdict.uops:
            left_out[verdict.scheme] = f"{text} has the verdict on {found[text].scheme}"
    return dict(sorted(found.items(), key=lambda item: item[1].row))


def _nothing_known(instructions: int, problems: Problems) -> None:
    problems.add(
        f"none of the {instructions} instructions is known",
        "choose the instruction set that the file is about, or import it as a new one",
    )


def _loads(
    document: Document, texts: Mapping[str, str], problems: Problems, left_out: dict[str, str]
) -> dict[str, Loads]:
    """{scheme: loads}; `left_out` gains the instructions of a partial document that bring nothing.

    Two names of one scheme must agree on its loads; in a partial document the first one counts.
    """
    first: dict[str, LoadEntry] = {}
    used: set[str] = set()
    for entry in document.loads:
        text = texts.get(entry.scheme)
        if text is None:
            if document.partial:
                left_out.setdefault(entry.called, NO_SCHEME)
            continue
        same = first.setdefault(text, entry)
        if same.loads == entry.loads:
            used.add(entry.called)
        elif document.partial:
            left_out[entry.called] = f"{text} has the loads of {same.called}"
        else:
            problems.add(
                f"{excerpt(same.scheme)} and {excerpt(entry.scheme)} are one scheme with different loads",
                f"keep one of them for {text!r}, or import the file as a new instruction set",
                row=entry.row,
                column=entry.column,
            )
    if document.loads and not first and document.partial:
        _nothing_known(len(left_out), problems)
    # A class is written once and may have thousands of schemes: a small file can say very much.
    if (total := sum(len(entry.loads) for entry in first.values())) > MAX_LOADS:
        problems.add(
            f"{total:,} loads of {len(first):,} schemes", f"at most {MAX_LOADS:,} are read", column="loads"
        )
    for name in used & left_out.keys():
        del left_out[name]
    return {text: entry.loads for text, entry in first.items()}
