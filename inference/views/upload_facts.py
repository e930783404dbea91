"""What the preview of an upload says about the file, as plain rows for its template."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from inference.core.resources import ResourceMapping
from inference.exchange.file_units import FileUnit
from inference.exchange.importing import Preview
from inference.exchange.parsing import Parsed
from inference.exchange.read_experiments import ReadExperiments

SAMPLE = 12  # rows of the file that the preview repeats
UNIT_COLUMN = "unit"


@dataclass(frozen=True)
class Fact:
    """A label with its value; `figure` values are set as numbers."""

    label: str
    value: str
    figure: bool = False


def facts_of(seen: Preview) -> list[Fact]:
    """The counts, ranges, units and columns that were found in a file."""
    parsed = seen.parsed
    if parsed.resources is not None:
        found = _resource_facts(parsed, parsed.resources)
    else:
        found = _mapping_facts(seen) if parsed.mapping is not None else _experiment_facts(parsed)
    if parsed.schemes:
        found.insert(1 if found else 0, Fact("Schemes", f"{len(parsed.schemes):,}", figure=True))
    if columns := parsed.facts.get("columns"):
        written = parsed.facts.get("titles", columns)
        found.append(
            Fact("Columns", ", ".join(_column(*each) for each in zip(written, columns, strict=True)))
        )
    if tools := parsed.facts.get("tools"):
        found.append(Fact("Other tools' answers", ", ".join(tools)))
    if architecture := parsed.facts.get("arch") or parsed.facts.get("isa"):
        found.append(Fact("Named in the file", str(architecture)))
    if parsed.merged:
        found.append(Fact("Names that mean the same scheme", f"{len(parsed.merged):,}", figure=True))
    return found


def _column(title: str, name: str) -> str:
    """A column by its title, and what it was taken for where that is not the same."""
    return name if title.lower() == name.lower() else f"{title} ({name})"


def _experiment_facts(parsed: Parsed) -> list[Fact]:
    measured = parsed.measured
    if not isinstance(measured, ReadExperiments) or not len(measured):
        return []
    lengths, cycles = measured.lengths, measured.cycles
    units = [FileUnit(unit).label for unit in parsed.facts.get("units", ())]
    return [
        Fact("Experiments", f"{len(lengths):,}", figure=True),
        Fact("Instructions per experiment", _range(lengths, ""), figure=True),
        Fact("Cycles", _range(cycles, ".2f"), figure=True),
        Fact("Unit in the file", ", ".join(units)),
    ]


def _mapping_facts(seen: Preview) -> list[Fact]:
    mapping = seen.parsed.mapping
    assert mapping is not None
    limits = " and ".join(f"{rate:g} {what}" for what, rate in mapping.limits.items())
    outcomes = [] if seen.explanation is None else seen.explanation.outcomes.most_common()
    return [
        Fact("Ports", ", ".join(mapping.ports), figure=True),
        *(Fact(outcome.value.capitalize(), f"{count:,}", figure=True) for outcome, count in outcomes),
        Fact("Kinds of µops", f"{mapping.uop_kinds:,}", figure=True),
        Fact("Outside the ports", f"{limits} per cycle" if limits else "not modelled"),
    ]


def _resource_facts(parsed: Parsed, resources: ResourceMapping) -> list[Fact]:
    found = [
        Fact("Resources", f"{len(resources.resources):,}", figure=True),
        Fact("Classes of equal loads", f"{resources.classes:,}", figure=True),
    ]
    if total := parsed.facts.get("instructions"):
        found.append(
            Fact("Instructions with a scheme", f"{total - len(parsed.left_out):,} of {total:,}", figure=True)
        )
    return found


def _range(values: Iterable[float], form: str) -> str:
    found = list(values)
    low, high = format(min(found), form), format(max(found), form)
    return low if low == high else f"{low}–{high}"


def names_no_unit(parsed: Parsed) -> bool:
    """Whether the file leaves open what its numbers are: neither a column nor its title says so."""
    facts = parsed.facts
    return "columns" in facts and UNIT_COLUMN not in facts["columns"] and "unit_by_title" not in facts
