"""A port mapping as exports for other tools see it: schemes with operands, predictions and evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from inference.core.mapping import HiddenUops, PortMapping, Uops, described
from inference.core.protocols import Json
from inference.formats.provenance import PRODUCT, Provenance
from inference.isa.tool_names import NO_NAMES, ToolNames


@dataclass(frozen=True)
class SchemeEvidence:
    """What a mapping's word on a scheme rests on, as far as an export can say it in a line.

    `measured`: cycles of one instance alone, `counted` its µops, None where nobody measured or counted.

    `witnesses`: how many pairs of experiments show its µops. `doubts` and `conflicts`
    in words, the latter with other results of the machine.
    """

    measured: float | None = None
    counted: float | None = None
    witnesses: int = 0
    doubts: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


NOTHING = SchemeEvidence()


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
        return sum(count for _, count in self.uops)

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The operands that the text shows."""
        return [each for each in self.operands if not each.get("implicit")]


@dataclass(frozen=True, slots=True)
class ExportedLatencies:
    """A scheme with its latencies.

    `operands`, `pairs` and `idioms`: objects as `as_json` of `Operand`, `PairLatency` and `Idiom` make them.
    """

    text: str
    mnemonic: str
    extension: str
    category: str
    operands: Sequence[Json]
    pairs: Sequence[Json]
    idioms: Sequence[Json]


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
    def texts(self) -> list[str]:
        """Of all schemes, in their order."""
        return [scheme.text for scheme in self.schemes]

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
