"""Published pages of a port mapping, and of a core model: its mapping with latencies and front end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db.models import QuerySet

from inference.core.core_model import CoreModel, KindCompetition, kind_competition
from inference.core.core_model.differences import front_end_quantities, memory_quantities
from inference.core.experiment import Experiment
from inference.core.front_end import read_front_end
from inference.core.mapping import PortMapping as MappingValue
from inference.core.throughput import inverse_throughput
from inference.features.judging.accuracy_checks.core_verdict import CoreVerdict, core_verdict
from inference.features.learning.core_model.home import quantity_facts
from inference.features.learning.front_end.query import HEADLINES
from inference.figures.core_diagram import core_drawing
from inference.figures.heatmap import HeatMap
from inference.figures.svg import SvgDrawing, graph_drawing, heat_map_drawing, port_usage_drawing
from inference.formats.core_model_json import core_model_json, core_model_text
from inference.formats.exports import ExportedScheme
from inference.formats.mapping_json import write_mapping_json
from inference.formats.provenance import CITATION
from inference.formats.quoting import json_by_line
from inference.models import Evaluation, MeasuredFrontEnd, PortMapping, StoredCoreModel
from inference.storage.core_models import core_model_of, overview_of, port_labels, settled_readings
from inference.storage.evaluations import evaluations_of
from inference.storage.export_values import exported_mapping
from inference.web.published_page import (
    CellKind,
    PublishedColumn,
    PublishedFact,
    PublishedKind,
    PublishedPage,
    PublishedPicture,
    PublishedTable,
    Value,
)

_NAME = "published by pmweb"
"""The name in documents: names of rows may be private."""


@dataclass(frozen=True)
class _PublishedCore:
    """The content of a page.

    Attributes:
        latencies: {scheme: (cycles as text, idioms)}.
        front_end: Rows of the table.
    """

    isa: str
    created: datetime
    mapping: MappingValue | None = None
    schemes: Sequence[ExportedScheme] = ()
    best: Evaluation | None = None
    latencies: Mapping[str, tuple[str | None, str]] = field(default_factory=dict)
    front_end: tuple[tuple[Value, ...], ...] = ()
    slots: float | None = None
    diagram: SvgDrawing | None = None
    verdict: CoreVerdict | None = None
    competing: tuple[tuple[Value, ...], ...] = ()
    memory: tuple[tuple[str, str], ...] = ()
    credits: tuple[str, ...] = (CITATION,)


def mapping_page(pk: int) -> PublishedPage:
    """The page of a port mapping. Raises `PortMapping.DoesNotExist`."""
    row = _mappings().get(pk=pk)
    cpu = "" if row.machine is None else row.machine.cpu
    core = _with_mapping(_PublishedCore(row.isa.name, row.created), row)
    assert core.mapping is not None, "a mapping's row has one"
    document = write_mapping_json(core.mapping, name=_NAME, isa=core.isa)
    text = json_by_line({**document, "cite": list(core.credits)}, long="usage")
    return _page(PublishedKind.MAPPING, row.name, cpu, core, {"mapping.json": text})


def core_page(pk: int) -> PublishedPage:
    """The page of a core model, inferred or imported. Raises `StoredCoreModel.DoesNotExist`."""
    row = StoredCoreModel.objects.select_related("isa", "machine", "latencies", "front_end").get(pk=pk)
    model = core_model_of(row)
    core = _PublishedCore(row.isa.name, row.created, latencies=_latencies(model))
    if row.mapping_id is not None:
        core = _with_mapping(core, _mappings().get(pk=row.mapping_id))
    elif model.mapping is not None:
        core = replace(core, mapping=model.mapping, schemes=_schemes_of(model.mapping, row))
    if row.front_end is not None:
        core = replace(core, front_end=tuple(_measured_numbers(row.front_end)))
    elif model.front_end is not None:
        facts = quantity_facts(front_end_quantities(model.front_end))
        core = replace(core, front_end=tuple((label, number, "") for label, number in facts))
    if model.front_end is not None:
        core = replace(core, slots=model.front_end.slots)
    cpu = "" if row.machine is None else row.machine.cpu
    overview = overview_of(row, model)
    if overview.ports:
        labels = port_labels(row)
        competing = tuple(_competition_rows(kind_competition(overview), labels))
        core = replace(core, diagram=core_drawing(overview, labels), competing=competing)
    if row.latencies is not None or model.latencies:
        core = replace(core, memory=quantity_facts(memory_quantities(model.memory)))
    core = replace(core, verdict=core_verdict(row))
    document = core_model_json(
        replace(model, sources={}), name=_NAME, isa=core.isa, port_names=row.port_names
    )
    return _page(PublishedKind.CORE, row.name, cpu, core, {"core-model.json": core_model_text(document)})


def _competition_rows(competition: KindCompetition, labels: Mapping[str, str]) -> Iterator[tuple[Value, ...]]:
    """A row for each two groups of kinds that delay each other, the strongest first."""
    for pair in competition.strongest:
        shared = " ".join(labels.get(port, port) for port in pair.shared)
        yield ", ".join(pair.first.names), ", ".join(pair.second.names), shared, pair.together


def _mappings() -> QuerySet[PortMapping]:
    return PortMapping.objects.select_related("isa", "machine", "run")


def _with_mapping(core: _PublishedCore, row: PortMapping) -> _PublishedCore:
    export = exported_mapping(row)
    best = evaluations_of(row).defer(None).filter(unit="cycles").first()
    inferred = (f"inferred: {row.source}",) if row.origin == PortMapping.Origin.RUN and row.source else ()
    cited = (*inferred, *export.provenance.citations)
    return replace(core, mapping=export.value, schemes=export.schemes, best=best, credits=cited)


def _schemes_of(mapping: MappingValue, row: StoredCoreModel) -> list[ExportedScheme]:
    """The schemes of an imported model's mapping, which has no row, in alphabetical order."""
    facts = row.isa.schemes.filter(text__in=mapping.usage).values_list("text", "extension", "category")
    facts_by_text = {text: (extension, category) for text, extension, category in facts}
    unknown = ("", "")
    return [
        ExportedScheme(
            text,
            text.partition(" ")[0],
            (),
            facts_by_text.get(text, unknown)[0],
            facts_by_text.get(text, unknown)[1],
            uops,
            inverse_throughput(mapping, Experiment.of([text])),
            slots=mapping.slots_of(text),
        )
        for text, uops in sorted(mapping.usage.items())
    ]


def _latencies(model: CoreModel) -> dict[str, tuple[str | None, str]]:
    """{scheme: (range of cycles over its pairs of operands, idioms)}."""
    latencies = {}
    for text, pairs in model.latencies.items():
        cycles = [pair for pair in pairs.values() if pair is not None]
        idioms = (
            "eliminated" if text in model.moves else "",
            "independent if both operands are one register" if text in model.free else "",
        )
        latencies[text] = (
            _span(min(cycles), max(cycles)) if cycles else None,
            ", ".join(filter(None, idioms)),
        )
    return latencies


def _span(lowest: float, highest: float) -> str:
    low, high = f"{lowest:.3g}", f"{highest:.3g}"
    return low if low == high else f"{low}–{high}"


def _measured_numbers(row: MeasuredFrontEnd) -> Iterator[tuple[Value, ...]]:
    front_end = read_front_end(settled_readings(row))
    for number in (front_end.number(name) for name in HEADLINES):
        if number.value is not None:
            yield (
                number.label,
                f"{number.value:.4g}",
                "at least; no larger value was tested" if number.at_least else "",
            )


def _page(
    kind: PublishedKind, title: str, subtitle: str, core: _PublishedCore, documents: Mapping[str, str]
) -> PublishedPage:
    noun = "core model" if kind is PublishedKind.CORE else "port mapping"
    return PublishedPage(
        kind,
        title,
        " · ".join(filter(None, (noun, subtitle, core.isa, f"{core.created:%Y-%m-%d}"))),
        tuple(_facts(core)),
        tuple(_sections(core)),
        core.credits,
        documents=documents,
        ports=() if core.mapping is None else core.mapping.ports,
        usage={scheme.text: (scheme.uops, scheme.predicted) for scheme in core.schemes},
    )


def _facts(core: _PublishedCore) -> Iterator[PublishedFact]:
    if core.verdict is not None:
        yield PublishedFact("accuracy", core.verdict.grade, "; ".join(core.verdict.reasons))
    if core.mapping is not None:
        yield PublishedFact("schemes", f"{len(core.schemes):,}")
        yield PublishedFact("ports", str(len(core.mapping.ports)))
        yield PublishedFact("distinct µops", f"{core.mapping.uop_kinds:,}")
        if core.mapping.issue_width is not None:
            yield PublishedFact("issue slots per cycle", f"{core.mapping.issue_width:g}")
        if core.mapping.r_max is not None:
            yield PublishedFact("instructions per cycle", f"{core.mapping.r_max:g}", "at most (R_max)")
    if core.best is not None and core.best.mape is not None:
        on = core.best.experiment_set
        where = "held-out experiments" if on is None else on.name
        yield PublishedFact("MAPE", f"{core.best.mape:.1f} %", f"{core.best.n:,} measurements: {where}")
    if core.latencies:
        yield PublishedFact("schemes with latencies", f"{len(core.latencies):,}")
    if core.slots is not None:
        yield PublishedFact("slots per cycle", f"{core.slots:.2f}", "front end")


def _sections(core: _PublishedCore) -> Iterator[PublishedTable | PublishedPicture]:
    if core.diagram is not None:
        note = "What each port runs: kinds of instructions, with their latencies."
        yield PublishedPicture("core", "Core", core.diagram, note)
    if core.competing:
        note = "Cycles of as many typical instructions of both kinds as take one cycle alone; by their ports."
        texts = (PublishedColumn(title) for title in ("Kind", "Competes with", "Ports of both"))
        pairs = (*texts, PublishedColumn("Cycles together", CellKind.NUMBER))
        yield PublishedTable("competition", "Who competes with whom", pairs, core.competing, note)
    has_heat_map = core.best is not None and bool(core.best.heat_map)
    if core.mapping is not None:
        note = "Schemes that can use a port, and filled those with a µop that no other port can execute."
        yield PublishedPicture(
            "ports", "Ports", port_usage_drawing(core.mapping), note, alone=not has_heat_map
        )
    if core.best is not None and has_heat_map:
        picture = heat_map_drawing(HeatMap.from_json(core.best.heat_map), "cycles")
        note = "Experiments by measured and predicted cycles; on the diagonal both are equal."
        yield PublishedPicture("accuracy", "Accuracy", picture, note, alone=False)
    if core.schemes or core.latencies:
        yield _scheme_table(core)
    if core.front_end:
        columns = (
            PublishedColumn("Number"),
            PublishedColumn("Value", CellKind.NUMBER),
            PublishedColumn("Remark"),
        )
        yield PublishedTable("front-end", "Front end", columns, core.front_end)
    if core.memory:
        heads = (PublishedColumn("Number"), PublishedColumn("Value"))
        yield PublishedTable("memory", "Memory", heads, core.memory)
    if core.mapping is not None:
        note = "Schemes with equal µops share a line. Coloured edges lead to the ports that execute a µop."
        yield PublishedPicture("graph", "Graph", graph_drawing(core.mapping), note)


def _scheme_table(core: _PublishedCore) -> PublishedTable:
    """A row per scheme: µops, inverse throughput of one instance, latency."""
    described = {scheme.text: scheme for scheme in core.schemes}
    slots = core.mapping is not None and core.mapping.issue_width is not None
    columns = [PublishedColumn("Scheme", CellKind.CODE)]
    if core.mapping is not None:
        columns += [
            PublishedColumn("Ports", CellKind.UOPS, ports=core.mapping.ports),
            PublishedColumn("µops", CellKind.NUMBER),
            *([PublishedColumn("Slots", CellKind.NUMBER)] if slots else []),
            PublishedColumn("Predicted cycles", CellKind.NUMBER),
            PublishedColumn("Measured cycles", CellKind.NUMBER),
        ]
    if core.latencies:
        columns.append(PublishedColumn("Latency (cycles)", CellKind.NUMBER))
        columns.append(PublishedColumn("Idiom", CellKind.CHOICE))
    if core.mapping is not None:
        columns.append(PublishedColumn("Extension", CellKind.CHOICE))
    rows = []
    for text in [*described, *sorted(core.latencies.keys() - described.keys())]:
        row: list[Value] = [text]
        if core.mapping is not None:
            row += _throughput(described.get(text), slots=slots)
        if core.latencies:
            row += core.latencies.get(text, (None, ""))
        if core.mapping is not None:
            row.append(described[text].extension if text in described else "")
        rows.append(tuple(row))
    note = "Cycles are those of one instance alone in a long loop: inverse throughput."
    return PublishedTable("schemes", "Schemes", tuple(columns), tuple(rows), note)


def _throughput(scheme: ExportedScheme | None, *, slots: bool) -> list[Value]:
    if scheme is None:
        return [None] * (5 if slots else 4)
    cycles: list[Value] = [scheme.predicted, scheme.evidence.measured]
    return [scheme.uops, scheme.count, *([scheme.slots] if slots else []), *cycles]
