"""Why a block takes as long as it does: the section of a question's page that asks a core model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.http import HttpRequest

from inference.core.core_model import Assumptions, BoundKind, CoreBound, CoreModel
from inference.core.core_model.dependences import ChainStep
from inference.core.experiment import Experiment
from inference.core.schedule import schedule
from inference.features.asking.questions.query import PredictorAnswer
from inference.features.learning.core_model.query import BlockReason, reasons_of, usable_core_models
from inference.isa.blocks import Block
from inference.isa.blocks.accesses import name_of_location
from inference.measuring.blocks import LOOP, MODES
from inference.models import StoredCoreModel
from inference.storage.instruction_sets import code_isa
from inference.web.validation import one_of, whole_number

SHADES = 8
CLOSE = 0.05
"""Numbers within this relative distance are called the same."""
REGISTERS = ("alike", "apart")
UNKNOWN = ("unsupported", "nearest")


@dataclass(frozen=True)
class WaitingInstruction:
    """An instruction of the listing: the issue slots that it takes, None where nothing is known of them, and
    the steps of the critical chain that lead through it, each as (waits for, cycles, what that rests on).

    `is_within`: between the first and the last instruction of the chain.
    """

    text: str
    slots: int | None
    steps: tuple[tuple[str, float, str], ...]
    is_within: bool


@dataclass(frozen=True)
class PortHeat:
    """How busy a port is: cycles per execution, their share of the prediction, and the shade for that."""

    port: str
    cycles: float
    percent: float
    shade: int


@dataclass(frozen=True)
class WhyView:
    """What a core model says of a block, with the switches by which the page asks anew."""

    reason: BlockReason
    listing: tuple[WaitingInstruction, ...]
    ports: tuple[PortHeat, ...]
    models: tuple[StoredCoreModel, ...]
    switches: tuple[tuple[BoundKind, bool], ...]
    """bounds, and whether each is left out"""


def why_of(request: HttpRequest, block: Block, usual: str) -> WhyView | None:
    """By the core model and with the switches in the address; None where there is no core model.

    Args:
        usual: The mode in which the others were asked.
    """
    models = tuple(row for row in usable_core_models()[:50] if code_isa(row.isa) == block.isa)
    if not models:
        return None
    wanted = whole_number(request, "model")
    row = next((one for one in models if one.pk == wanted), models[0])
    left_out = [kind for kind in BoundKind if kind in request.GET.getlist("off")]
    alike = one_of(request, "registers", REGISTERS, REGISTERS[0]) == REGISTERS[0]
    nearest = one_of(request, "unknown", UNKNOWN, UNKNOWN[0]) != UNKNOWN[0]
    mode = one_of(request, "mode", MODES, usual)
    (reason,) = reasons_of([block], row, Assumptions(left_out, alike, nearest, mode == LOOP))
    return WhyView(
        reason,
        _listing(block, reason.prediction.chain, reason.model),
        _heat(block, reason.model, reason.prediction.cycles),
        models,
        tuple((kind, kind in left_out) for kind in BoundKind),
    )


def _listing(block: Block, chain: Sequence[ChainStep], model: CoreModel) -> tuple[WaitingInstruction, ...]:
    places = [step.instruction for step in chain]
    return tuple(
        WaitingInstruction(
            one.text,
            _slots(one.scheme, model),
            tuple(
                (name_of_location(step.location), step.cycles, step.basis)
                for step in chain
                if step.instruction == place
            ),
            bool(places) and min(places) <= place <= max(places),
        )
        for place, one in enumerate(block.instructions)
    )


def _slots(scheme: str | None, model: CoreModel) -> int | None:
    mapping = model.mapping
    if mapping is None or mapping.issue_width is None or scheme is None or scheme not in mapping.usage:
        return None
    return mapping.slots_of(scheme)


def _heat(block: Block, model: CoreModel, cycles: float) -> tuple[PortHeat, ...]:
    """One optimal distribution of the µops, those of eliminated moves left out."""
    mapping = model.mapping
    if mapping is None:
        return ()
    known = Counter(
        one.scheme
        for one in block.instructions
        if one.scheme in mapping.usage and one.scheme not in model.moves
    )
    counts = {scheme: count for scheme, count in known.items() if scheme is not None}
    loads = schedule(mapping, Experiment.of(counts)).loads if counts else (0.0,) * len(mapping.ports)
    most = max(cycles, *loads) or 1.0
    return tuple(
        PortHeat(port, load, 100 * load / most, round(SHADES * load / most))
        for port, load in zip(mapping.ports, loads, strict=True)
    )


def with_closest(lines: Sequence[PredictorAnswer], why: WhyView | None) -> list[PredictorAnswer]:
    """The answers, each with the bound of the core model that it comes closest to."""
    bounds = () if why is None else why.reason.prediction.bounds
    return [replace(line, closest=closest_bound(bounds, line.cycles)) for line in lines]


def closest_bound(bounds: Sequence[CoreBound], cycles: float | None) -> str:
    """`dependencies, 4.00`, with "near" before it where it is not the same; "" for nothing to compare."""
    if cycles is None or not bounds:
        return ""
    nearest = min(bounds, key=lambda bound: abs(bound.cycles - cycles))
    near = "" if abs(nearest.cycles - cycles) <= CLOSE * cycles else "near "
    return f"{near}{nearest.kind}, {nearest.cycles:.2f}"
