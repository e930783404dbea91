"""Which ports a block keeps busy by a port mapping: worked out, as a table, as a tab of the mapping."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from inference.core.experiment import Experiment
from inference.core.mapping import Uops
from inference.core.schedule import Schedule, schedule
from inference.features.library.experiments.picture import picture
from inference.isa.blocks import Block, BlockError, Piece, piece_of, read
from inference.isa.bodies import obstacle_to_blocks
from inference.isa.targets import target_of
from inference.models import ISA, PortMapping, PortUsage
from inference.predictors.mapping import (
    iteration_terms,
    jump_schemes,
    loop_branch,
    with_branch_slot,
)
from inference.storage.core_models import fused_pairs
from inference.storage.instruction_sets import code_isa
from inference.storage.judging import grounds_of
from inference.storage.rows import ids_of_schemes, load_part

MOST_CHOICES = 50


@dataclass(frozen=True)
class Describing:
    """A port mapping, and how many of a block's schemes it describes."""

    mapping: PortMapping
    schemes: int


@dataclass(frozen=True)
class InstructionLoad:
    """The µops of an instruction, and the cycles per execution of the block that it takes up of each port.

    Both are None where the mapping does not describe it. `scheme`: what stands for it in the experiment, ""
    for nothing.
    """

    uops: Uops | None = None
    ports: tuple[float, ...] | None = None
    scheme: str = ""


@dataclass(frozen=True)
class BlockLoad:
    """How a mapping spreads the µops of a block; `instructions` are those of `Block.listing`.

    `experiment` holds those that the mapping describes, and `schedule` is of these alone.
    """

    mapping: PortMapping
    experiment: Experiment
    schedule: Schedule
    instructions: tuple[InstructionLoad, ...]

    @property
    def described(self) -> bool:
        """Whether the mapping describes every instruction."""
        return all(one.uops is not None for one in self.instructions)


def describing(schemes: Collection[int], isa: ISA) -> list[Describing]:
    """The mappings that describe any of these schemes (row ids), those that describe most first.

    The newest come first of equals. Two queries.
    """
    found = PortUsage.objects.filter(scheme__in=schemes, mapping__isa=isa).values_list("mapping")
    counts = dict(found.annotate(n=Count("scheme", distinct=True)))
    rows = PortMapping.objects.filter(pk__in=counts).defer("report", "note")
    told = [Describing(row, counts[row.pk]) for row in rows]
    return sorted(told, key=lambda one: (-one.schemes, -one.mapping.pk))[:MOST_CHOICES]


def load_of(block: Block, row: PortMapping) -> BlockLoad | None:
    """The fair optimal distribution of what the mapping describes, None for nothing (two queries)."""
    texts = {*(text for text, _ in block.terms), *jump_schemes(block)}
    value = load_part(row, {pk: text for text, pk in ids_of_schemes(row.isa_id, texts).items()})
    fused = None if block.closing is None else fused_pairs(row.machine_id)
    branch = loop_branch(block, value.usage, fused)
    usage = with_branch_slot(value).usage
    counts = {text: count for text, count in iteration_terms(block, branch).items() if text in usage}
    if not counts.keys() & value.usage.keys():
        return None
    experiment = Experiment.of(counts)
    spread = schedule(with_branch_slot(value), experiment)
    loads = {text: _ports(spread, text, count) for text, count in counts.items()}
    nothing = InstructionLoad((), (0.0,) * len(value.ports))
    parts = [
        InstructionLoad(usage[text], loads[text], text) if text in loads else InstructionLoad()
        for text in (one.scheme or "" for one in block.instructions)
    ]
    if branch is not None:
        jump = branch.scheme
        counted = InstructionLoad(usage[jump], loads[jump], jump) if jump else nothing
        parts = [*parts[:-1], nothing, counted] if branch.replaced else [*parts, counted]
    return BlockLoad(row, experiment, spread, tuple(parts))


def _ports(spread: Schedule, scheme: str, count: int) -> tuple[float, ...]:
    """Of one instruction of the scheme: those of one scheme share alike."""
    loads = [0.0] * len(spread.ports)
    for (_, port), amount in spread.scheme_shares.get(scheme, {}).items():
        loads[port] += amount / count
    return tuple(loads)


SHADES = 4
"""Steps from no load to the load of the busiest port."""


def load_context(block: Block, load: BlockLoad) -> dict[str, Any]:
    drawn = picture(load.schedule, load.experiment.terms)
    letters = {text: letter for letter, text, _ in drawn.schemes}
    return {"load": load, "drawing": drawn, "load_rows": list(_rows(block, load, letters))}


def _rows(
    block: Block, load: BlockLoad, letters: dict[str, str]
) -> Sequence[tuple[str, str, Uops | None, list[tuple[float, int]], Sequence[str]]]:
    """Letter in the picture, text, µops, per port (cycles, shade), and what other results say instead, of
    every instruction."""
    grounds = grounds_of(load.mapping, load.experiment.schemes)
    most = max((max(one.ports) for one in load.instructions if one.ports), default=0.0)
    return [
        (
            letters.get(one.scheme, ""),
            text,
            one.uops,
            [(cycles, _shade(cycles, most)) for cycles in one.ports or ()],
            grounds.conflict_words(one.scheme),
        )
        for (_, text), one in zip(block.listing, load.instructions, strict=True)
    ]


def _shade(cycles: float, most: float) -> int:
    """0 for no load, else 1 to `SHADES`."""
    return 0 if cycles <= 0 else max(1, round(SHADES * cycles / most))


MOST_CODE = 3000
"""Characters of a loop: it travels in the address."""

MOST_PIECES = 100
"""Loops and straight pieces of a text that there is a choice of."""

TIE = 1e-9
"""Cycles by which loads that count as equal may differ."""


def suits(row: PortMapping) -> bool:
    """Whether loops of the mapping's instruction set can be read, or why not can be said."""
    return target_of(row.isa.name).bodies is not None


def loop_tab(request: HttpRequest, row: PortMapping) -> dict[str, Any]:
    """The loop in the address (`code`), decoded, and what its µops take up of each port (one query)."""
    code = request.GET.get("code", "").strip()
    context: dict[str, Any] = {"code": code, "most_code": MOST_CODE}
    if obstacle := obstacle_to_blocks(row.name, row.isa.name):
        return {**context, "obstacle": obstacle, "error": obstacle if code else ""}
    if not code:
        return context
    if len(code) > MOST_CODE:
        error = f"The loop has {len(code):,} characters; up to {MOST_CODE:,} are read"
        return {**context, "code": "", "error": error}
    try:
        reading = read(code, MOST_PIECES)
        pieces = reading.pieces
        chosen = _chosen(pieces, request.GET.get("piece", ""))
    except BlockError as problem:
        return {**context, "error": f"Nothing was decoded: {problem}"}
    everybody = f"{reverse('blocks')}?{urlencode({'isa': code_isa(row.isa), 'code': code})}"
    return {
        **context,
        **_predicted(chosen.block, row),
        "block_page": everybody,
        "pieces": pieces if len(pieces) > 1 else (),
        "piece": chosen,
        "dropped": reading.dropped,
    }


def _chosen(pieces: Sequence[Piece], wanted: str) -> Piece:
    """The piece of this name or number; at first the first loop or piece. Raises `BlockError`."""
    if wanted:
        return piece_of(pieces, wanted)
    return next((piece for piece in pieces if piece.block.closing is not None), pieces[0])


def _predicted(block: Block, row: PortMapping) -> dict[str, Any]:
    load = load_of(block, row)
    if load is None:
        return {"undescribed": True}
    cycles, loads = load.schedule.cycles, load.schedule.loads
    fullest = max(loads, default=0.0)
    full = [(name, bit) for bit, name in enumerate(row.ports) if fullest and loads[bit] > fullest - TIE]
    ipc = len(block.listing) / cycles if cycles else None
    return {**load_context(block, load), "full_ports": full, "ipc": ipc}
