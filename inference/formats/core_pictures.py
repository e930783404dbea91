"""Stored core models as a picture, and as a table of what each port is for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from inference.core.core_model import CoreModel, CoreOverview, core_overview
from inference.core.judging.contradictions import NOT_SETTLED
from inference.figures.core_diagram import core_drawing
from inference.formats.core_model_json import core_model_of
from inference.formats.csv_cells import written
from inference.formats.errors import ExchangeError
from inference.formats.provenance import head_of
from inference.isa.unit_classes import STORES, UNIT_CLASSES, unit_class
from inference.models import InstructionScheme, SchemeConflict, StoredCoreModel

KINDS_HEADER = ("kind", "ports", "units", "schemes", "cycles", "least latency", "most latency", NOT_SETTLED)


def overview_of(row: StoredCoreModel, model: CoreModel | None = None) -> CoreOverview:
    """What each port of a core model runs (a query, with its value `model` at hand)."""
    model = core_model_of(row) if model is None else model
    described = () if model.mapping is None else model.mapping.usage
    facts = row.isa.schemes.values_list("text", "mnemonic", "category", "memory")
    kinds = {text: unit_class(text, *rest) for text, *rest in facts if text in described}
    return core_overview(model, kinds, UNIT_CLASSES, STORES)


def unsettled_kinds(row: StoredCoreModel) -> Counter[str]:
    """{kind: how many of its schemes another result of the machine contradicts} (one query)."""
    conflicts = SchemeConflict.objects.filter(mapping=row.mapping_id)
    facts = InstructionScheme.objects.filter(pk__in=conflicts.values("scheme"))
    rows = facts.values_list("text", "mnemonic", "category", "memory")
    return Counter(unit_class(*scheme) for scheme in rows)


def diagram_of(row: StoredCoreModel) -> str:
    """The picture as a file. Raises `ExchangeError` for a model of which nothing can be drawn."""
    overview = overview_of(row)
    if not overview.ports and overview.front_end is None:
        raise ExchangeError(f"the core model {row.name!r} has neither ports nor a front end to draw")
    return core_drawing(overview, row.port_names).file()


def kinds_csv_of(row: StoredCoreModel) -> str:
    """A row per kind of instructions: the ports that run most of them, and how long they take.

    Raises `ExchangeError` for a model without ports.
    """
    overview = overview_of(row)
    if not overview.ports:
        raise ExchangeError(
            f"the core model {row.name!r} has no port mapping, without which there is no table"
        )
    return written(KINDS_HEADER, _rows(overview, row), head_of(**{"core model": row.name}))


def _rows(overview: CoreOverview, row: StoredCoreModel) -> Iterator[list[object]]:
    unsettled = unsettled_kinds(row)
    for kind in overview.kinds:
        ports = " ".join(row.port_names.get(port, port) for port in kind.ports)
        latencies = (None, None) if kind.latencies is None else kind.latencies
        yield [kind.name, ports, len(kind.ports), kind.schemes, kind.cycles, *latencies, unsettled[kind.name]]
