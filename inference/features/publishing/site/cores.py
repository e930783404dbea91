"""Published pages of a port mapping, and of a core model: its mapping with latencies and front end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db.models import QuerySet

from inference.core.core_model import CoreModel
from inference.core.experiment import Experiment
from inference.core.front_end import read_front_end
from inference.core.mapping import PortMapping as MappingValue
from inference.core.throughput import inverse_throughput
from inference.features.learning.front_end.query import HEADLINES
from inference.figures.core_diagram import core_drawing
from inference.figures.heatmap import HeatMap
from inference.figures.svg import SvgDrawing, graph_drawing, heat_map_drawing, port_usage_drawing
from inference.formats.core_model_json import core_model_json, core_model_text
from inference.formats.exported import ExportedScheme
from inference.formats.mapping_json import write_mapping_json
from inference.formats.provenance import CITATION
from inference.formats.quoting import one_line_each
from inference.models import Evaluation, MeasuredFrontEnd, PortMapping, StoredCoreModel
from inference.storage.core_models import core_model_of, overview_of, settled_readings
from inference.storage.evaluations import evaluations_of
from inference.storage.exported import exported
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
"""Of documents: names of our rows may be private."""


@dataclass(frozen=True)
class _KnownCore:
    """What a page is made of. `latencies`: {scheme: (cycles as text, idioms)}; `front_end`: rows."""

    isa: str
    made: datetime
    mapping: MappingValue | None = None
    schemes: Sequence[ExportedScheme] = ()
    best: Evaluation | None = None
    latencies: Mapping[str, tuple[str | None, str]] = field(default_factory=dict)
    front_end: tuple[tuple[Value, ...], ...] = ()
    slots: float | None = None
    diagram: SvgDrawing | None = None
    credits: tuple[str, ...] = (CITATION,)


def mapping_page(pk: int) -> PublishedPage:
    """Of a port mapping. Raises `PortMapping.DoesNotExist`."""
    row = _mappings().get(pk=pk)
    cpu = "" if row.machine is None else row.machine.cpu
    known = _with_mapping(_KnownCore(row.isa.name, row.created), row)
    assert known.mapping is not None, "a mapping's row has one"
    document = write_mapping_json(known.mapping, name=_NAME, isa=known.isa)
    text = one_line_each({**document, "cite": list(known.credits)}, long="usage")
    return _page(PublishedKind.MAPPING, row.name, cpu, known, {"mapping.json": text})


def core_page(pk: int) -> PublishedPage:
    """Of a core model, made here or imported. Raises `StoredCoreModel.DoesNotExist`."""
    row = StoredCoreModel.objects.select_related("isa", "machine", "latencies", "front_end").get(pk=pk)
    model = core_model_of(row)
    known = _KnownCore(row.isa.name, row.created, latencies=_latencies(model))
    if row.mapping_id is not None:
        known = _with_mapping(known, _mappings().get(pk=row.mapping_id))
    elif model.mapping is not None:
        known = replace(known, mapping=model.mapping, schemes=_schemes_of(model.mapping, row))
    if row.front_end is not None:
        known = replace(known, front_end=tuple(_measured_numbers(row.front_end)))
    elif model.front_end is not None:
        told = ((label, getattr(model.front_end, name), "") for name, label in _LIMITS.items())
        known = replace(known, front_end=tuple(each for each in told if each[1] is not None))
    if model.front_end is not None:
        known = replace(known, slots=model.front_end.slots)
    about = "" if row.machine is None else row.machine.cpu
    overview = overview_of(row, model)
    if overview.ports:
        known = replace(known, diagram=core_drawing(overview, row.port_names))
    document = core_model_json(
        replace(model, sources={}), name=_NAME, isa=known.isa, port_names=row.port_names
    )
    return _page(PublishedKind.CORE, row.name, about, known, {"core-model.json": core_model_text(document)})


_LIMITS = {
    "slots": "Slots per cycle",
    "straight_instructions": "Instructions per cycle in straight code",
    "straight_bytes": "Bytes per cycle in straight code",
    "loop_capacity": "Instructions in the longest loop at full rate",
    "taken": "Taken branches per cycle",
}


def _mappings() -> QuerySet[PortMapping]:
    return PortMapping.objects.select_related("isa", "machine", "run")


def _with_mapping(known: _KnownCore, row: PortMapping) -> _KnownCore:
    told = exported(row)
    best = evaluations_of(row).defer(None).filter(unit="cycles").first()
    inferred = (f"inferred: {row.source}",) if row.origin == PortMapping.Origin.RUN and row.source else ()
    cited = (*inferred, *told.provenance.citations)
    return replace(known, mapping=told.value, schemes=told.schemes, best=best, credits=cited)


def _schemes_of(mapping: MappingValue, row: StoredCoreModel) -> list[ExportedScheme]:
    """Of a mapping that has no row of its own, in alphabetical order."""
    facts = row.isa.schemes.filter(text__in=mapping.usage).values_list("text", "extension", "category")
    of = {text: (extension, category) for text, extension, category in facts}
    unknown = ("", "")
    return [
        ExportedScheme(
            text,
            text.partition(" ")[0],
            (),
            of.get(text, unknown)[0],
            of.get(text, unknown)[1],
            uops,
            inverse_throughput(mapping, Experiment.of([text])),
            slots=mapping.slots_of(text),
        )
        for text, uops in sorted(mapping.usage.items())
    ]


def _latencies(model: CoreModel) -> dict[str, tuple[str | None, str]]:
    """{scheme: (cycles from its quickest to its slowest pair of operands, idioms)}."""
    found = {}
    for text, pairs in model.latencies.items():
        cycles = [each for each in pairs.values() if each is not None]
        idioms = (
            "eliminated" if text in model.moves else "",
            "waits for nothing with one register" if text in model.free else "",
        )
        found[text] = (_span(min(cycles), max(cycles)) if cycles else None, ", ".join(filter(None, idioms)))
    return found


def _span(least: float, most: float) -> str:
    low, high = f"{least:.3g}", f"{most:.3g}"
    return low if low == high else f"{low}–{high}"


def _measured_numbers(row: MeasuredFrontEnd) -> Iterator[tuple[Value, ...]]:
    found = read_front_end(settled_readings(row))
    for one in (found.number(name) for name in HEADLINES):
        if one.value is not None:
            yield one.label, f"{one.value:.4g}", "at least; nothing larger was tried" if one.at_least else ""


def _page(
    kind: PublishedKind, title: str, about: str, known: _KnownCore, documents: Mapping[str, str]
) -> PublishedPage:
    what = "core model" if kind is PublishedKind.CORE else "port mapping"
    return PublishedPage(
        kind,
        title,
        " · ".join(filter(None, (what, about, known.isa, f"{known.made:%Y-%m-%d}"))),
        tuple(_facts(known)),
        tuple(_sections(known)),
        known.credits,
        documents=documents,
        ports=() if known.mapping is None else known.mapping.ports,
        usage={one.text: (one.uops, one.predicted) for one in known.schemes},
    )


def _facts(known: _KnownCore) -> Iterator[PublishedFact]:
    if known.mapping is not None:
        yield PublishedFact("schemes", f"{len(known.schemes):,}")
        yield PublishedFact("ports", str(len(known.mapping.ports)))
        yield PublishedFact("distinct µops", f"{known.mapping.uop_kinds:,}")
        if known.mapping.issue_width is not None:
            yield PublishedFact("issue slots per cycle", f"{known.mapping.issue_width:g}")
        if known.mapping.r_max is not None:
            yield PublishedFact("instructions per cycle", f"{known.mapping.r_max:g}", "at most (R_max)")
    if known.best is not None and known.best.mape is not None:
        on = known.best.experiment_set
        where = "held-out experiments" if on is None else on.name
        yield PublishedFact("MAPE", f"{known.best.mape:.1f} %", f"{known.best.n:,} measurements: {where}")
    if known.latencies:
        yield PublishedFact("schemes with latencies", f"{len(known.latencies):,}")
    if known.slots is not None:
        yield PublishedFact("slots per cycle", f"{known.slots:.2f}", "front end")


def _sections(known: _KnownCore) -> Iterator[PublishedTable | PublishedPicture]:
    if known.diagram is not None:
        note = "What each port runs: kinds of instructions, with their latencies."
        yield PublishedPicture("core", "Core", known.diagram, note)
    drawn = known.best is not None and bool(known.best.heat_map)
    if known.mapping is not None:
        note = "Schemes that can use a port, and filled those with a µop that no other port can execute."
        yield PublishedPicture("ports", "Ports", port_usage_drawing(known.mapping), note, alone=not drawn)
    if known.best is not None and drawn:
        picture = heat_map_drawing(HeatMap.from_json(known.best.heat_map), "cycles")
        note = "Experiments by measured and predicted cycles; on the diagonal both are equal."
        yield PublishedPicture("accuracy", "Accuracy", picture, note, alone=False)
    if known.schemes or known.latencies:
        yield _scheme_table(known)
    if known.front_end:
        columns = (
            PublishedColumn("Number"),
            PublishedColumn("Value", CellKind.NUMBER),
            PublishedColumn("Remark"),
        )
        yield PublishedTable("front-end", "Front end", columns, known.front_end)
    if known.mapping is not None:
        note = "Schemes with equal µops share a line. Coloured edges lead to the ports that execute a µop."
        yield PublishedPicture("graph", "Graph", graph_drawing(known.mapping), note)


def _scheme_table(known: _KnownCore) -> PublishedTable:
    """A row per scheme: µops, cycles of one instance, latency. Cycles are inverse throughput."""
    described = {one.text: one for one in known.schemes}
    slots = known.mapping is not None and known.mapping.issue_width is not None
    columns = [PublishedColumn("Scheme", CellKind.CODE)]
    if known.mapping is not None:
        columns += [
            PublishedColumn("Ports", CellKind.UOPS, ports=known.mapping.ports),
            PublishedColumn("µops", CellKind.NUMBER),
            *([PublishedColumn("Slots", CellKind.NUMBER)] if slots else []),
            PublishedColumn("Predicted cycles", CellKind.NUMBER),
            PublishedColumn("Measured cycles", CellKind.NUMBER),
        ]
    if known.latencies:
        columns.append(PublishedColumn("Latency (cycles)", CellKind.NUMBER))
        columns.append(PublishedColumn("Idiom", CellKind.CHOICE))
    if known.mapping is not None:
        columns.append(PublishedColumn("Extension", CellKind.CHOICE))
    rows = []
    for text in [*described, *sorted(known.latencies.keys() - described.keys())]:
        row: list[Value] = [text]
        if known.mapping is not None:
            row += _throughput(described.get(text), slots=slots)
        if known.latencies:
            row += known.latencies.get(text, (None, ""))
        if known.mapping is not None:
            row.append(described[text].extension if text in described else "")
        rows.append(tuple(row))
    note = "Cycles are those of one instance alone in a long loop: inverse throughput."
    return PublishedTable("schemes", "Schemes", tuple(columns), tuple(rows), note)


def _throughput(one: ExportedScheme | None, *, slots: bool) -> list[Value]:
    if one is None:
        return [None] * (5 if slots else 4)
    cycles: list[Value] = [one.predicted, one.evidence.measured]
    return [one.uops, one.count, *([one.slots] if slots else []), *cycles]
