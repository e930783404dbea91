"""The section of a block's page in which a core model explains its cycles."""

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
from inference.isa.blocks import name_of_location
from inference.isa.code.block import Block
from inference.measuring.blocks import LOOP, MODES
from inference.models import StoredCoreModel
from inference.storage.instruction_sets import code_isa
from inference.web.validation import choice_parameter, number_parameter

SHADES = 8
SAME_WITHIN = 0.05
"""Relative difference up to which a number counts as equal to a bound."""
REGISTERS = ("alike", "apart")
UNKNOWN = ("unsupported", "nearest")


@dataclass(frozen=True)
class ListedInstruction:
    """An instruction of the listing with its issue slots, None where they are unknown, and the steps of the
    critical chain through it, each as (location it waits for, cycles, basis of the latency).

    `is_within`: between the first and the last instruction of the chain.
    """

    text: str
    slots: int | None
    steps: tuple[tuple[str, float, str], ...]
    is_within: bool


@dataclass(frozen=True)
class PortHeat:
    """How busy a port is: cycles per execution, per cent of the prediction, and a shade from 0 to
    `SHADES`."""

    port: str
    cycles: float
    percent: float
    shade: int


@dataclass(frozen=True)
class WhyView:
    """What a core model says of a block, with the switches of the section's form."""

    reason: BlockReason
    listing: tuple[ListedInstruction, ...]
    ports: tuple[PortHeat, ...]
    models: tuple[StoredCoreModel, ...]
    switches: tuple[tuple[BoundKind, bool], ...]
    """each bound, and whether it is left out"""


def why_view(request: HttpRequest, block: Block, default_mode: str) -> WhyView | None:
    """By the core model and with the switches in the address; None where there is no core model.

    Args:
        default_mode: The mode of the other predictors' answers.
    """
    models = tuple(row for row in usable_core_models()[:50] if code_isa(row.isa) == block.isa)
    if not models:
        return None
    model_id = number_parameter(request, "model")
    row = next((model for model in models if model.pk == model_id), models[0])
    left_out = [kind for kind in BoundKind if kind in request.GET.getlist("off")]
    same_place = choice_parameter(request, "registers", REGISTERS, REGISTERS[0]) == REGISTERS[0]
    nearest = choice_parameter(request, "unknown", UNKNOWN, UNKNOWN[0]) != UNKNOWN[0]
    mode = choice_parameter(request, "mode", MODES, default_mode)
    (reason,) = reasons_of([block], row, Assumptions(left_out, same_place, nearest, mode == LOOP))
    return WhyView(
        reason,
        _listing(block, reason.prediction.chain, reason.model),
        _heat(block, reason.model, reason.prediction.cycles),
        models,
        tuple((kind, kind in left_out) for kind in BoundKind),
    )


def _listing(block: Block, chain: Sequence[ChainStep], model: CoreModel) -> tuple[ListedInstruction, ...]:
    places = [step.instruction for step in chain]
    return tuple(
        ListedInstruction(
            instruction.text,
            _slots(instruction.scheme, model),
            tuple(
                (name_of_location(step.location), step.cycles, step.basis)
                for step in chain
                if step.instruction == place
            ),
            bool(places) and min(places) <= place <= max(places),
        )
        for place, instruction in enumerate(block.instructions)
    )


def _slots(scheme: str | None, model: CoreModel) -> int | None:
    mapping = model.mapping
    if mapping is None or mapping.issue_width is None or scheme is None or scheme not in mapping.usage:
        return None
    return mapping.slots_of(scheme)


def _heat(block: Block, model: CoreModel, cycles: float) -> tuple[PortHeat, ...]:
    """The load of each port in an optimal distribution of the µops, without those of eliminated moves."""
    mapping = model.mapping
    if mapping is None:
        return ()
    counted = Counter(
        instruction.scheme
        for instruction in block.instructions
        if instruction.scheme in mapping.usage and instruction.scheme not in model.moves
    )
    counts = {scheme: count for scheme, count in counted.items() if scheme is not None}
    loads = schedule(mapping, Experiment.of(counts)).loads if counts else (0.0,) * len(mapping.ports)
    largest = max(cycles, *loads) or 1.0
    return tuple(
        PortHeat(port, load, 100 * load / largest, round(SHADES * load / largest))
        for port, load in zip(mapping.ports, loads, strict=True)
    )


def with_closest_bounds(lines: Sequence[PredictorAnswer], why: WhyView | None) -> list[PredictorAnswer]:
    """The answers, each with the bound of the core model that is closest to its number."""
    bounds = () if why is None else why.reason.prediction.bounds
    return [replace(line, closest_bound=closest_bound(bounds, line.cycles)) for line in lines]


def closest_bound(bounds: Sequence[CoreBound], cycles: float | None) -> str:
    """The closest bound as `dependencies, 4.00`, after "≈ " unless equal within `SAME_WITHIN`; "" without
    any."""
    if cycles is None or not bounds:
        return ""
    nearest = min(bounds, key=lambda bound: abs(bound.cycles - cycles))
    near = "" if abs(nearest.cycles - cycles) <= SAME_WITHIN * cycles else "≈ "
    return f"{near}{nearest.kind}, {nearest.cycles:.2f}"
