"""A port mapping as exports for other tools see it: schemes with operands, predictions and evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Count, Q, QuerySet

from inference.core.experiment import Experiment
from inference.core.hidden_uops import HiddenUops, hidden_in, hidden_kinds
from inference.core.mapping import PortMapping, Uops, described
from inference.core.throughput import inverse_throughput
from inference.formats.provenance import PRODUCT, Provenance, provenance_of
from inference.isa.tool_names import NO_NAMES, TOOL_NAMES, ToolNames
from inference.models import ExperimentSet, Measurement
from inference.models import PortMapping as PortMappingRow
from inference.storage.instruction_sets import core_of
from inference.storage.judging import conflicts_of
from inference.storage.recorded import settled_medians
from inference.storage.rows import load_mapping

# What a mapping's word on a scheme rests on, as far as an export can say it in a line.


@dataclass(frozen=True)
class SchemeEvidence:
    """`measured`: cycles of one instance alone, `counted` its µops, None where nobody measured or counted.

    `witnesses`: how many pairs of experiments show its µops. `doubts` and `conflicts`
    in words, the latter with other results of the machine.
    """

    measured: float | None = None
    counted: float | None = None
    witnesses: int = 0
    doubts: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


NOTHING = SchemeEvidence()


def evidence_of(row: PortMappingRow) -> dict[str, SchemeEvidence]:
    """{scheme text: evidence} of the schemes that something is known of.

    Cycles are those of the verdict, else the median over the sets that belong to the mapping: measured on its
    machine, or learnt from by its run. Other machines' numbers say nothing about it.
    """
    alone = _alone(row)
    counted = row.characterisations.annotate(number=Count("witnesses")).values_list(
        "scheme__text", "cycles", "counted", "number", "doubts"
    )
    found = {text: SchemeEvidence(measured=cycles) for text, cycles in alone.items()}
    for text, cycles, uops, number, doubts in counted:
        measured = alone.get(text) if cycles is None else cycles
        found[text] = SchemeEvidence(measured, uops, number, tuple(map(str, doubts)))
    for (_, text), conflicts in conflicts_of([row.pk]).items():
        words = tuple(each.words for each in conflicts)
        found[text] = replace(found.get(text, NOTHING), conflicts=words)
    return found


def _alone(row: PortMappingRow) -> Mapping[str, float]:
    measured = Measurement.objects.filter(experiment_set__in=own_sets(row), experiment__length=1)
    return settled_medians(measured, "experiment__terms__scheme__text")


def own_sets(row: PortMappingRow) -> QuerySet[ExperimentSet]:
    """The sets that belong to a mapping: measured on its machine, or, without one, learnt from by its run."""
    if row.machine_id is not None:
        return ExperimentSet.objects.filter(isa=row.isa_id, machine=row.machine_id)
    source = {} if row.run is None else row.run.config.get("source")
    learnt = source.get("datasets", ()) if isinstance(source, dict) else ()
    return ExperimentSet.objects.filter(
        Q(run__isnull=False, run=row.run_id) | Q(pk__in=learnt), isa=row.isa_id
    )


@dataclass(frozen=True)
class ExportedScheme:
    """A scheme of a mapping. `operands` are objects as `Operand.as_json` makes them.

    `slots`: issue slots that it takes. `predicted`: cycles of one instance alone by the mapping. `hidden`:
    what no experiment can show of its µops.
    """

    text: str
    mnemonic: str
    operands: Sequence[dict[str, Any]]
    extension: str
    category: str
    uops: Uops
    predicted: float
    evidence: SchemeEvidence = NOTHING
    slots: int = 1
    hidden: HiddenUops | None = None

    @property
    def count(self) -> int:
        """Number of µops."""
        return sum(count for _, count in self.uops)

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The operands that the text shows."""
        return [each for each in self.operands if not each.get("implicit")]


@dataclass(frozen=True)
class ExportedMapping:
    """A mapping with all that its exports say. `tools` are other tools' names of its core."""

    name: str
    isa: str
    value: PortMapping
    schemes: tuple[ExportedScheme, ...]
    provenance: Provenance
    tools: ToolNames = NO_NAMES

    def line(self, scheme: ExportedScheme) -> str:
        """Where the word on a scheme comes from, in one line: what every line of an export carries."""
        return "; ".join(self._told(scheme))

    def _told(self, scheme: ExportedScheme) -> Iterator[str]:
        known = scheme.evidence
        yield scheme.text
        yield described(scheme.uops, self.value.ports)
        if scheme.hidden is not None:
            yield f"hidden: {scheme.hidden}"
        if self.value.issue_width is not None:
            yield f"{scheme.slots} slot{'' if scheme.slots == 1 else 's'}"
        yield "not measured alone" if known.measured is None else f"measured {known.measured:.4g} cycles"
        yield f"by the mapping {scheme.predicted:.4g}"
        if known.counted is not None:
            yield f"{known.counted:.4g} µop{'' if known.counted == 1 else 's'} counted"
        if known.witnesses:
            yield f"{known.witnesses} witness{'' if known.witnesses == 1 else 'es'}"
        if known.doubts:
            yield f"doubtful: {'; '.join(known.doubts)}"
        yield from known.conflicts
        yield f"“{self.name}”"
        yield PRODUCT


def exported(row: PortMappingRow) -> ExportedMapping:
    """The mapping of a row, its schemes in the order of the instruction set (seven queries)."""
    value = load_mapping(row)
    evidence = evidence_of(row)
    hidden = hidden_kinds(value)
    rows = row.isa.schemes.filter(pk__in=row.usages.values("scheme")).order_by("pk")
    schemes = tuple(
        ExportedScheme(
            text,
            mnemonic,
            operands,
            extension,
            category,
            value.usage[text],
            inverse_throughput(value, Experiment.of([text])),
            evidence.get(text, NOTHING),
            value.slots_of(text),
            hidden_in(value, text, hidden),
        )
        for text, mnemonic, operands, extension, category in rows.values_list(
            "text", "mnemonic", "operands", "extension", "category"
        )
    )
    core = None if row.machine is None else core_of(row.machine)
    tools = NO_NAMES if core is None else TOOL_NAMES.get(core.name, NO_NAMES)
    return ExportedMapping(row.name, row.isa.name, value, schemes, provenance_of(row), tools)
