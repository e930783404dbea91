"""A port mapping as exports for other tools see it: schemes with operands, predictions and evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from inference.core.experiment import Experiment
from inference.core.hidden_uops import HiddenUops, hidden_in, hidden_kinds
from inference.core.mapping import PortMapping, Uops, described
from inference.core.throughput import inverse_throughput
from inference.formats.provenance import PRODUCT, Provenance, provenance_of
from inference.formats.scheme_evidence import NOTHING, SchemeEvidence, evidence_of
from inference.isa.tool_names import NO_NAMES, TOOL_NAMES, ToolNames
from inference.models import PortMapping as PortMappingRow
from inference.storage.cores import core_of
from inference.storage.instruction_sets import X86
from inference.storage.rows import load_mapping


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

    @property
    def x86(self) -> bool:
        """Whether machine code of its schemes can be made as x86-64."""
        return self.isa == X86

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
        yield f"“{self.name}”"
        yield PRODUCT


def exported(row: PortMappingRow) -> ExportedMapping:
    """The mapping of a row, its schemes in the order of the instruction set (six queries)."""
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
