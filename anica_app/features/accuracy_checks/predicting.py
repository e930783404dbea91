"""Who is asked in an accuracy check, and which bound of the core model is the largest of each block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anica_app.core.protocols import PredictorError
from anica_app.features.accuracy_checks.request import MOST_PREDICTORS
from anica_app.features.predictors.processors import options_for, processor_of_machine
from anica_app.features.predictors.query import kind_of, programs, row_for
from anica_app.models import Predictor
from anica_app.predictors import core_model, mapping, nanobench
from anica_app.predictors.kinds import FoundKind, PredictorKind
from inference.core.protocols import Json
from inference.features.core_model.query import machines_with_latencies
from inference.isa.x86.blocks import BlockError, block_of_bytes
from inference.models import Machine

MOST_MAPPINGS = 4
"""Of each kind, the newest of the machine."""


def usual_predictors(machine: Machine) -> tuple[list[Predictor], dict[str, str]]:
    """The machine's core model and mappings, and all tools for its processor; {what is left out: why}."""
    rows: dict[int, Predictor] = {}
    left_out: dict[str, str] = {}
    for name, wanted in _wanted(machine):
        row, reason = _first_usable(wanted)
        if row is None:
            left_out[name] = reason
        elif len(rows) < MOST_PREDICTORS:
            rows[row.pk] = row
    configured = Predictor.objects.filter(origin=Predictor.Origin.CONFIGURED).order_by("-pk")
    for row in configured.exclude(kind=nanobench.KIND)[:MOST_PREDICTORS]:
        if len(rows) < MOST_PREDICTORS:
            rows.setdefault(row.pk, row)
    return list(rows.values()), left_out


def core_model_options(machine: Machine) -> Json | None:
    """Those of the machine's core model, for blocks as machines measure them; None where it has none."""
    if machine not in machines_with_latencies():
        return None
    return {"machine": machine.name, "registers": "alike"}


def largest_bounds(machine: Machine, codes: Sequence[bytes]) -> list[str]:
    """The largest bound of each block by the core model; "" where it has none or does not know the block."""
    options = core_model_options(machine)
    if options is None:
        return [""] * len(codes)
    try:
        model = kind_of(core_model.KIND).predictor(options)
    except PredictorError:
        return [""] * len(codes)
    assert isinstance(model, core_model.ModelledBlocks)
    return [_largest(model, code) for code in codes]


def _largest(model: core_model.ModelledBlocks, code: bytes) -> str:
    try:
        found = model.explain(block_of_bytes(code))
    except BlockError:
        return ""
    return str(found.bounds[0].kind) if found.bounds and not found.unknown else ""


def _wanted(machine: Machine) -> Iterator[tuple[str, list[tuple[str, Json]]]]:
    """(what it is called, [(kind, options), …] of which the first is taken that can be used)."""
    options = core_model_options(machine)
    if options is not None:
        yield "core model", [(core_model.KIND, options)]
    for made in (machine.mappings, machine.resource_mappings):
        for name in made.order_by("-pk").values_list("name", flat=True)[:MOST_MAPPINGS]:
            yield f"mapping {name}", [(mapping.KIND, {"mapping": name})]
    processor = processor_of_machine(machine)
    for kind, found, _ in programs():
        if kind.name != nanobench.KIND:  # that measures the computer of the site
            for one in found:
                yield f"{kind.title} {one.version}", _for_processor(kind, one, processor)


def _for_processor(kind: PredictorKind, one: FoundKind, processor: str) -> list[tuple[str, Json]]:
    return [(kind.name, options) for options in options_for(kind.name, one.options, processor)]


def _first_usable(wanted: Sequence[tuple[str, Json]]) -> tuple[Predictor | None, str]:
    reason = "it has no model of this processor"
    for kind, options in wanted:
        try:
            return row_for(kind, options), ""
        except PredictorError as error:
            reason = str(error)
    return None, reason
