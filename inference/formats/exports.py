"""Port mappings and core models as the values that exports for other tools are written from.

A mapping has schemes with operands, predictions and evidence; a core model has latencies as well. Tools with
one latency per instruction get either the latency that it adds to a chain through registers (OSACA) or its
largest (LLVM). The core diagram (SVG) and the table of kinds of instructions are written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inference.core.core_model import CoreModel, CoreOverview, LatencyEnd, chained_latency, known_latencies
from inference.core.experiment import Experiment
from inference.core.judging.contradictions import NOT_SETTLED
from inference.core.mapping import HiddenUops, PortMapping, Uops, described, hidden_in, hidden_kinds
from inference.core.protocols import Json
from inference.core.throughput import inverse_throughput
from inference.figures.core_diagram import core_drawing
from inference.formats.problems import ExchangeError
from inference.formats.provenance import PRODUCT, Provenance, head_of
from inference.formats.quoting import csv_text
from inference.isa.microarchitecture import NO_NAMES, ToolNames
from inference.isa.scheme import Scheme
from inference.isa.targets import code_target


@dataclass(frozen=True)
class SchemeEvidence:
    """Evidence for a scheme's µops, as far as an export can state it in a line.

    Attributes:
        measured: Cycles of one instance alone.
        counted: Its µops by a performance counter; None where missing.
        witnesses: Number of pairs of experiments that show its µops.
        doubts, conflicts: Sentences; the latter are about other results of the machine.
    """

    measured: float | None = None
    counted: float | None = None
    witnesses: int = 0
    doubts: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


NO_EVIDENCE = SchemeEvidence()


@dataclass(frozen=True)
class ExportedScheme:
    """A scheme of a mapping. `operands` are objects as `Operand.as_json` makes them.

    Attributes:
        slots: Issue slots that it takes.
        predicted: Cycles of one instance alone by the mapping.
        hidden: What no experiment can show of its µops.
    """

    text: str
    mnemonic: str
    operands: Sequence[dict[str, Any]]
    extension: str
    category: str
    uops: Uops
    predicted: float
    evidence: SchemeEvidence = NO_EVIDENCE
    slots: int = 1
    hidden: HiddenUops | None = None

    @property
    def count(self) -> int:
        return sum(count for _, count in self.uops)

    @property
    def explicit_operands(self) -> list[dict[str, Any]]:
        return [operand for operand in self.operands if not operand.get("implicit")]


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
    """A mapping with everything that its exports contain. `tools`: other tools' names of its core."""

    name: str
    isa: str
    value: PortMapping
    schemes: tuple[ExportedScheme, ...]
    provenance: Provenance
    tools: ToolNames = NO_NAMES

    @property
    def texts(self) -> list[str]:
        return [scheme.text for scheme in self.schemes]

    def line(self, scheme: ExportedScheme) -> str:
        """A scheme's µops and the evidence for them in one line: the comment on every line of an export."""
        return "; ".join(self._line_parts(scheme))

    def _line_parts(self, scheme: ExportedScheme) -> Iterator[str]:
        evidence = scheme.evidence
        yield scheme.text
        yield described(scheme.uops, self.value.ports)
        if scheme.hidden is not None:
            yield f"hidden: {scheme.hidden}"
        if self.value.issue_width is not None:
            yield f"{scheme.slots} slot{'' if scheme.slots == 1 else 's'}"
        alone = evidence.measured
        yield "not measured alone" if alone is None else f"measured {alone:.4g} cycles"
        yield f"by the mapping {scheme.predicted:.4g}"
        if evidence.counted is not None:
            yield f"{evidence.counted:.4g} µop{'' if evidence.counted == 1 else 's'} counted"
        if evidence.witnesses:
            yield f"{evidence.witnesses} witness{'' if evidence.witnesses == 1 else 'es'}"
        if evidence.doubts:
            yield f"doubtful: {'; '.join(evidence.doubts)}"
        yield from evidence.conflicts
        yield f"“{self.name}”"
        yield PRODUCT


@dataclass(frozen=True)
class ExportedCore:
    """A core model with the schemes of its mapping, including those without µops.

    `alone`: schemes whose ports were not found; their `predicted` is the measured time of one instance.
    """

    mapping: ExportedMapping
    model: CoreModel
    alone: tuple[ExportedScheme, ...] = ()

    def chain_latency(self, text: str) -> float | None:
        """Cycles that a scheme adds to a chain through registers, None where unknown.

        The largest latency between explicit registers where it has any. A store adds none.
        """
        return chained_latency(self.model, text)

    def memory_latency(self, text: str) -> float | None:
        """Cycles from the value that an instruction loads to the value that it stores, None where unknown."""
        latencies = known_latencies(self.model.latencies.get(text, {}))
        return max(
            (cycles for ends, cycles in latencies if ends == (LatencyEnd.DATA, LatencyEnd.DATA)), default=None
        )

    def largest_latency(self, text: str) -> float | None:
        """The largest latency between any two operands, None where none was measured in isolation.

        Latencies to a stored value are ignored unless the value was loaded: they include the load that waits.
        """
        if text in self.model.moves:
            return 0.0
        bases = self.model.bases.get(text, {})
        latencies = self.model.latencies.get(text, {})
        measured = known_latencies(
            {ends: cycles for ends, cycles in latencies.items() if not bases.get(ends)}
        )
        counted = (
            cycles
            for ends, cycles in measured
            if ends[1] is not LatencyEnd.DATA or ends[0] is LatencyEnd.DATA
        )
        return max(counted, default=None)

    def latencies_text(self, text: str) -> str:
        """All latencies of a scheme: `1 → 1: 3, 2 → 1: 3`; "" where none are known."""
        latencies, bases = self.model.latencies.get(text, {}), self.model.bases.get(text, {})
        return ", ".join(
            f"{source} → {target}: {_latency_text(cycles, bases.get((source, target), ''))}"
            for (source, target), cycles in latencies.items()
        )

    def line(self, scheme: ExportedScheme) -> str:
        """A scheme's µops, evidence and latencies in one line."""
        return self.with_latencies(self.mapping.line(scheme), scheme.text)

    def with_latencies(self, line: str, text: str) -> str:
        """The line with the scheme's latencies appended, if there are any."""
        pairs = self.latencies_text(text)
        return f"{line}; latencies {pairs}" if pairs else line


def _latency_text(cycles: float | None, basis: str) -> str:
    if cycles is None:
        return "none"
    return f"{cycles:.4g} ({basis})" if basis else f"{cycles:.4g}"


def exported_core(
    name: str,
    isa: str,
    model: CoreModel,
    provenance: Provenance,
    tools: ToolNames = NO_NAMES,
    evidence: Mapping[str, SchemeEvidence] | None = None,
) -> ExportedCore:
    """A core model for export, its schemes in alphabetical order.

    Args:
        name: Name of the core model.
        isa: Its instruction set; schemes that the software's catalogue of it lacks are left out.
        model: The value.
        provenance: For the head of files.
        tools: Other tools' names of the core.
        evidence: {scheme: evidence}; schemes without an entry have none.

    Raises:
        ExchangeError: The model has no port mapping.
    """
    if model.mapping is None:
        raise ExchangeError(
            f"the core model {name!r} has no port mapping, without which there is no such file"
        )
    moves = dict.fromkeys(sorted(model.moves - set(model.mapping.usage)), ())
    value = PortMapping(
        model.mapping.ports,
        {**model.mapping.usage, **moves},
        model.mapping.r_max,
        model.mapping.issue_width,
        model.mapping.slots,
    )
    schemes = tuple(_schemes(isa, value, evidence or {}))
    mapping = ExportedMapping(name, isa, value, schemes, provenance, tools)
    return ExportedCore(mapping, model, tuple(_by_time(isa, model, value.usage)))


def _schemes(
    isa: str, value: PortMapping, evidence: Mapping[str, SchemeEvidence]
) -> Iterator[ExportedScheme]:
    """The schemes of a mapping with everything that exports say of them, in the order of the set."""
    hidden = hidden_kinds(value)
    for scheme in _schemes_of(isa, value.usage):
        yield ExportedScheme(
            scheme.text,
            scheme.mnemonic,
            [operand.as_json() for operand in scheme.operands],
            scheme.extension,
            scheme.category,
            value.usage[scheme.text],
            inverse_throughput(value, Experiment.of([scheme.text])),
            evidence.get(scheme.text, NO_EVIDENCE),
            value.slots_of(scheme.text),
            hidden_in(value, scheme.text, hidden),
        )


def _by_time(isa: str, model: CoreModel, usage: Mapping[str, object]) -> Iterator[ExportedScheme]:
    cycles = {text: cycles for text, cycles in model.alone.items() if text not in usage}
    for scheme in _schemes_of(isa, cycles):
        alone = cycles[scheme.text]
        operands = [operand.as_json() for operand in scheme.operands]
        evidence = SchemeEvidence(measured=alone)
        yield ExportedScheme(
            scheme.text, scheme.mnemonic, operands, scheme.extension, scheme.category, (), alone, evidence
        )


def _schemes_of(isa: str, texts: Mapping[str, object]) -> Sequence[Scheme]:
    """Sorted by text, so that equal models give equal files, whatever order they were stored in."""
    return [*filter(None, map(code_target(isa).schemes.scheme_of, sorted(texts)))]


KINDS_HEADER = ("kind", "ports", "units", "schemes", "cycles", "least latency", "most latency", NOT_SETTLED)


def write_diagram(name: str, overview: CoreOverview, port_names: Mapping[str, str]) -> str:
    """The core diagram as SVG. Raises `ExchangeError` for a model with neither ports nor a front end."""
    if not overview.ports and overview.front_end is None:
        raise ExchangeError(f"the core model {name!r} has neither ports nor a front end to draw")
    return core_drawing(overview, port_names).file()


def write_kinds_csv(
    name: str, overview: CoreOverview, port_names: Mapping[str, str], unsettled: Mapping[str, int]
) -> str:
    """CSV with a row per kind of instructions: the ports that run most of them, cycles and latencies.

    Args:
        name: Name of the core model.
        overview: Its kinds and ports.
        port_names: {port of the mapping: the name to write}.
        unsettled: {kind: number of schemes that another result contradicts}.

    Raises:
        ExchangeError: The model has no ports.
    """
    if not overview.ports:
        raise ExchangeError(f"the core model {name!r} has no port mapping, without which there is no table")
    rows = _rows(overview, port_names, unsettled)
    return csv_text(KINDS_HEADER, rows, head_of(**{"core model": name}))


def _rows(
    overview: CoreOverview, port_names: Mapping[str, str], unsettled: Mapping[str, int]
) -> Iterator[list[object]]:
    for kind in overview.kinds:
        ports = " ".join(port_names.get(port, port) for port in kind.ports)
        latencies = (None, None) if kind.latencies is None else kind.latencies
        contradicted = unsettled.get(kind.name, 0)
        yield [kind.name, ports, len(kind.ports), kind.schemes, kind.cycles, *latencies, contradicted]
