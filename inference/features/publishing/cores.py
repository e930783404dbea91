"""Published pages of a port mapping, and of a core: its mapping with latencies and front end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from inference.core.front_end import read_front_end
from inference.core.latency import IdiomKind
from inference.features.evaluations.query import evaluations_of
from inference.features.front_end.query import HEADLINES
from inference.features.publishing.content import (
    ColumnKind,
    PublishedColumn,
    PublishedFact,
    PublishedKind,
    PublishedPage,
    PublishedPicture,
    PublishedTable,
    Value,
)
from inference.figures.heatmap import HeatMap
from inference.figures.svg import graph_drawing, heat_map_drawing, port_usage_drawing
from inference.formats.exported import ExportedMapping, ExportedScheme, exported
from inference.formats.exporting import one_line_each
from inference.formats.mapping_json import write_mapping_json
from inference.models import Evaluation, LatencySet, Machine, MeasuredFrontEnd, PortMapping
from inference.storage.core_models import CoreParts, newest_parts
from inference.storage.front_ends import settled_readings

Section = PublishedTable | PublishedPicture
_IDIOMS = {
    IdiomKind.ZEROING: "zeroing idiom",
    IdiomKind.ELIMINATED: "eliminated",
    IdiomKind.BREAKING: "breaks dependencies",
}


def mapping_page(pk: int) -> PublishedPage:
    """Of a port mapping. Raises `PortMapping.DoesNotExist`."""
    row = PortMapping.objects.select_related("isa", "machine", "run").get(pk=pk)
    cpu = "" if row.machine is None else row.machine.cpu
    return _page(PublishedKind.MAPPING, row.name, cpu, row.created, exported(row), row, None, None)


def core_page(pk: int) -> PublishedPage:
    """Of all that was found out about a machine's core. Raises `Machine.DoesNotExist`, `LookupError`."""
    machine = Machine.objects.select_related("isa").get(pk=pk)
    parts: CoreParts = newest_parts(machine)
    if parts.mapping is None and parts.latencies is None and parts.front_end is None:
        raise LookupError("nothing is known of this core yet: it has no port mapping, latencies or front end")
    mapping = parts.mapping and PortMapping.objects.select_related("isa", "machine", "run").get(
        pk=parts.mapping.pk
    )
    known = [part.created for part in (parts.mapping, parts.latencies, parts.front_end) if part is not None]
    told = None if mapping is None else exported(mapping)
    title = machine.cpu or machine.name
    subtitle = machine.isa.name
    return _page(
        PublishedKind.CORE, title, subtitle, max(known), told, mapping, parts.latencies, parts.front_end
    )


def _page(
    kind: PublishedKind,
    title: str,
    about: str,
    made: datetime,
    told: ExportedMapping | None,
    row: PortMapping | None,
    latencies: LatencySet | None,
    front_end: MeasuredFrontEnd | None,
) -> PublishedPage:
    best = None if row is None else evaluations_of(row).defer(None).filter(unit="cycles").first()
    words = ["core model" if kind is PublishedKind.CORE else "port mapping", about]
    isa = "" if told is None or about == told.isa else told.isa
    sections = [
        *_pictures(told, best),
        *([] if told is None and latencies is None else [_schemes(told, latencies)]),
        *([] if front_end is None else [_front_end(front_end)]),
        *([] if told is None else _graph(told)),
    ]
    return PublishedPage(
        kind,
        title,
        " · ".join(filter(None, [*words, isa, f"{made:%Y-%m-%d}"])),
        tuple(_facts(told, latencies, front_end, best)),
        tuple(sections),
        () if told is None else _credits(told, row),
        documents={} if told is None else {"mapping.json": _document(told)},
        ports=() if told is None else told.value.ports,
        usage={} if told is None else {one.text: (one.uops, one.predicted) for one in told.schemes},
    )


def _facts(
    told: ExportedMapping | None,
    latencies: LatencySet | None,
    front_end: MeasuredFrontEnd | None,
    best: Evaluation | None,
) -> Iterator[PublishedFact]:
    if told is not None:
        yield PublishedFact("schemes", f"{len(told.schemes):,}")
        yield PublishedFact("ports", str(len(told.value.ports)))
        yield PublishedFact("distinct µops", f"{told.value.uop_kinds:,}")
        if told.value.issue_width is not None:
            yield PublishedFact("issue slots per cycle", f"{told.value.issue_width:g}")
        if told.value.r_max is not None:
            yield PublishedFact("instructions per cycle", f"{told.value.r_max:g}", "at most (R_max)")
    if best is not None and best.mape is not None:
        where = "held-out experiments" if best.experiment_set is None else best.experiment_set.name
        yield PublishedFact("MAPE", f"{best.mape:.1f} %", f"{best.n:,} measurements: {where}")
    if latencies is not None:
        yield PublishedFact("schemes with latencies", f"{latencies.schemes.count():,}")
    if front_end is not None:
        slots = read_front_end(settled_readings(front_end)).number("slots")
        if slots.value is not None:
            yield PublishedFact("slots per cycle", f"{slots.value:.2f}", "front end")


def _pictures(told: ExportedMapping | None, best: Evaluation | None) -> Iterator[PublishedPicture]:
    if told is not None:
        note = "Schemes that can use a port, and filled those with a µop that no other port can execute."
        yield PublishedPicture(
            "ports", "Ports", port_usage_drawing(told.value), note, alone=best is None or not best.heat_map
        )
    if best is not None and best.heat_map:
        yield PublishedPicture(
            "accuracy",
            "Accuracy",
            heat_map_drawing(HeatMap.from_json(best.heat_map), "cycles"),
            "Experiments by measured and predicted cycles; on the diagonal both are equal.",
            alone=False,
        )


def _graph(told: ExportedMapping) -> Iterator[PublishedPicture]:
    note = "Schemes with equal µops share a line. Coloured edges lead to the ports that execute a µop."
    yield PublishedPicture("graph", "Graph", graph_drawing(told.value), note)


def _schemes(told: ExportedMapping | None, latencies: LatencySet | None) -> PublishedTable:
    """A row per scheme: µops, cycles of one instance, latency. Cycles are inverse throughput."""
    known = {} if told is None else {one.text: one for one in told.schemes}
    waits = {} if latencies is None else _latencies(latencies)
    columns = [PublishedColumn("Scheme", ColumnKind.CODE)]
    if told is not None:
        columns += [
            PublishedColumn("Ports", ColumnKind.UOPS, ports=told.value.ports),
            PublishedColumn("µops", ColumnKind.NUMBER),
            *([PublishedColumn("Slots", ColumnKind.NUMBER)] if told.value.issue_width else []),
            PublishedColumn("Predicted cycles", ColumnKind.NUMBER),
            PublishedColumn("Measured cycles", ColumnKind.NUMBER),
        ]
    if latencies is not None:
        columns += [
            PublishedColumn("Latency (cycles)", ColumnKind.NUMBER),
            PublishedColumn("Idiom", ColumnKind.CHOICE),
        ]
    if told is not None:
        columns += [PublishedColumn("Extension", ColumnKind.CHOICE)]
    texts = [*known, *sorted(waits.keys() - known.keys())]
    rows = []
    for text in texts:
        row: list[Value] = [text]
        if told is not None:
            row += _throughput(known.get(text), slots=told.value.issue_width is not None)
        if latencies is not None:
            row += waits.get(text, (None, ""))
        if told is not None:
            row.append(known[text].extension if text in known else "")
        rows.append(tuple(row))
    note = "Cycles are those of one instance alone in a long loop: inverse throughput."
    return PublishedTable("schemes", "Schemes", tuple(columns), tuple(rows), note)


def _throughput(one: ExportedScheme | None, *, slots: bool) -> list[Value]:
    if one is None:
        return [None] * (5 if slots else 4)
    cycles: list[Value] = [one.predicted, one.evidence.measured]
    return [one.uops, one.count, *([one.slots] if slots else []), *cycles]


def _latencies(row: LatencySet) -> Mapping[str, tuple[Value, Value]]:
    """{scheme: (cycles from its quickest to its slowest pair of operands, idioms)}."""
    listed = row.schemes.order_by("scheme__text").values_list("scheme__text", "least", "most", "idioms")
    return {text: (_span(least, most), _idioms(idioms)) for text, least, most, idioms in listed}


def _span(least: float | None, most: float | None) -> str | None:
    if least is None or most is None:
        return None
    low, high = f"{least:.3g}", f"{most:.3g}"
    return low if low == high else f"{low}–{high}"


def _idioms(idioms: Sequence[Mapping[str, object]]) -> str:
    kinds = {str(one["kind"]) for one in idioms}
    return ", ".join(words for kind, words in _IDIOMS.items() if kind in kinds)


def _front_end(row: MeasuredFrontEnd) -> PublishedTable:
    found = read_front_end(settled_readings(row))
    numbers = [found.number(name) for name in HEADLINES]
    rows = tuple(
        (one.label, f"{one.value:.4g}", "at least; nothing larger was tried" if one.at_least else "")
        for one in numbers
        if one.value is not None
    )
    columns = (
        PublishedColumn("Number", ColumnKind.TEXT),
        PublishedColumn("Measured", ColumnKind.NUMBER),
        PublishedColumn("Remark", ColumnKind.TEXT),
    )
    return PublishedTable("front-end", "Front end", columns, rows)


def _credits(told: ExportedMapping, row: PortMapping | None) -> tuple[str, ...]:
    """How it was made, and whom to cite; not which run and file."""
    inferred = row is not None and row.origin == PortMapping.Origin.RUN and row.source
    return (
        *([f"inferred: {row.source}"] if row is not None and inferred else []),
        *told.provenance.citations,
    )


def _document(told: ExportedMapping) -> str:
    """The mapping as a file that imports again, under the name of the page."""
    document = write_mapping_json(told.value, name="published port mapping", isa=told.isa)
    return one_line_each({**document, "cite": list(told.provenance.citations)}, long="usage")
