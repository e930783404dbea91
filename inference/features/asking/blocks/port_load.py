"""The load of each port by a block, according to a port mapping: computation, table, and the mapping's
tab."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from inference.core.core_model.prediction import jump_schemes, loop_branch
from inference.core.experiment import Experiment
from inference.core.mapping import Uops
from inference.core.schedule import Schedule, schedule
from inference.features.library.experiments.picture import picture
from inference.isa.bodies import obstacle_to_blocks
from inference.isa.code.block import Block, BlockError
from inference.isa.code.pieces import Piece, piece_of
from inference.isa.targets import target_of
from inference.models import ISA, PortMapping, PortUsage
from inference.predictors.mapping import iteration_terms, with_branch_slot
from inference.storage.core_models import fused_pairs
from inference.storage.instruction_sets import code_isa
from inference.storage.judging import grounds_of
from inference.storage.mappings import load_part
from inference.storage.rows import ids_of_schemes
from inference.web.code_reading import read

MAX_CHOICES = 50


@dataclass(frozen=True)
class DescribingMapping:
    """A port mapping, and the number of a block's schemes that it describes."""

    mapping: PortMapping
    schemes: int


@dataclass(frozen=True)
class InstructionLoad:
    """The µops of an instruction, and the cycles that it occupies each port per execution of the block.

    Both are None where the mapping does not describe it. `scheme`: its scheme in the experiment, "" for none.
    """

    uops: Uops | None = None
    ports: tuple[float, ...] | None = None
    scheme: str = ""


@dataclass(frozen=True)
class BlockLoad:
    """How a mapping distributes the µops of a block over ports; `instructions` follow `Block.listing`.

    `experiment` has the schemes that the mapping describes; `schedule` covers only these.
    """

    mapping: PortMapping
    experiment: Experiment
    schedule: Schedule
    instructions: tuple[InstructionLoad, ...]

    @property
    def described(self) -> bool:
        """Whether the mapping describes every instruction."""
        return all(load.uops is not None for load in self.instructions)


def describing_mappings(schemes: Collection[int], isa: ISA) -> list[DescribingMapping]:
    """The mappings that describe any of these schemes (row ids), the most complete first (two queries).

    Among equally complete ones, the newest come first.
    """
    usages = PortUsage.objects.filter(scheme__in=schemes, mapping__isa=isa).values_list("mapping")
    counts = dict(usages.annotate(n=Count("scheme", distinct=True)))
    rows = PortMapping.objects.filter(pk__in=counts).defer("report", "note")
    described = [DescribingMapping(row, counts[row.pk]) for row in rows]
    return sorted(described, key=lambda choice: (-choice.schemes, -choice.mapping.pk))[:MAX_CHOICES]


def load_of(block: Block, row: PortMapping) -> BlockLoad | None:
    """The fairest optimal distribution of the µops; None if no instruction is described (two queries)."""
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
        for text in (instruction.scheme or "" for instruction in block.instructions)
    ]
    if branch is not None:
        jump = branch.scheme
        counted = InstructionLoad(usage[jump], loads[jump], jump) if jump else nothing
        parts = [*parts[:-1], nothing, counted] if branch.replaced else [*parts, counted]
    return BlockLoad(row, experiment, spread, tuple(parts))


def _ports(spread: Schedule, scheme: str, count: int) -> tuple[float, ...]:
    """The cycles on each port of one instruction of the scheme: its `count` instructions share equally."""
    loads = [0.0] * len(spread.ports)
    for (_, port), amount in spread.scheme_shares.get(scheme, {}).items():
        loads[port] += amount / count
    return tuple(loads)


SHADES = 4
"""Colour steps from no load to the largest load of an instruction."""


def load_context(block: Block, load: BlockLoad) -> dict[str, Any]:
    drawing = picture(load.schedule, load.experiment.terms)
    letters = {text: letter for letter, text, _ in drawing.schemes}
    return {"load": load, "drawing": drawing, "load_rows": list(_rows(block, load, letters))}


def _rows(
    block: Block, load: BlockLoad, letters: dict[str, str]
) -> Sequence[tuple[str, str, Uops | None, list[tuple[float, int]], Sequence[str]]]:
    """A row per instruction: letter in the picture, text, µops, (cycles, shade) per port, conflicting
    results."""
    grounds = grounds_of(load.mapping, load.experiment.schemes)
    largest = max((max(line.ports) for line in load.instructions if line.ports), default=0.0)
    return [
        (
            letters.get(instruction.scheme, ""),
            text,
            instruction.uops,
            [(cycles, _shade(cycles, largest)) for cycles in instruction.ports or ()],
            grounds.conflict_words(instruction.scheme),
        )
        for (_, text), instruction in zip(block.listing, load.instructions, strict=True)
    ]


def _shade(cycles: float, largest: float) -> int:
    """0 for no load, else 1 to `SHADES`."""
    return 0 if cycles <= 0 else max(1, round(SHADES * cycles / largest))


MAX_CODE_LENGTH = 3000
"""Characters of a loop, which is part of the address."""

MAX_PIECES = 100
"""Loops and other blocks of a text among which one is chosen."""

LOAD_TOLERANCE = 1e-9
"""Cycles by which loads may differ and count as equal."""


def can_read_loops(row: PortMapping) -> bool:
    """Whether the mapping's instruction set has machine bodies, without which the tab is left out."""
    return target_of(row.isa.name).bodies is not None


def loop_tab(request: HttpRequest, row: PortMapping) -> dict[str, Any]:
    """The context of the tab: the loop in the address (`code`), decoded, with the load of each port (one
    query)."""
    code = request.GET.get("code", "").strip()
    context: dict[str, Any] = {"code": code, "most_code": MAX_CODE_LENGTH}
    if obstacle := obstacle_to_blocks(row.name, row.isa.name):
        return {**context, "obstacle": obstacle, "error": obstacle if code else ""}
    if not code:
        return context
    if len(code) > MAX_CODE_LENGTH:
        error = f"The loop has {len(code):,} characters; up to {MAX_CODE_LENGTH:,} are read"
        return {**context, "code": "", "error": error}
    try:
        reading = read(code, MAX_PIECES, code_isa(row.isa))
        pieces = reading.pieces
        piece = _chosen(pieces, request.GET.get("piece", ""))
    except BlockError as problem:
        return {**context, "error": f"The code was not decoded: {problem}"}
    block_page = f"{reverse('blocks')}?{urlencode({'isa': code_isa(row.isa), 'code': code})}"
    return {
        **context,
        **_predict_piece(piece.block, row),
        "block_page": block_page,
        "pieces": pieces if len(pieces) > 1 else (),
        "piece": piece,
        "dropped": reading.dropped,
    }


def _chosen(pieces: Sequence[Piece], name: str) -> Piece:
    """The piece of this name or number; without one, the first loop, else the first piece. Raises
    `BlockError`."""
    if name:
        return piece_of(pieces, name)
    return next((piece for piece in pieces if piece.block.closing is not None), pieces[0])


def _predict_piece(block: Block, row: PortMapping) -> dict[str, Any]:
    load = load_of(block, row)
    if load is None:
        return {"undescribed": True}
    cycles, loads = load.schedule.cycles, load.schedule.loads
    fullest = max(loads, default=0.0)
    full = [(port, n) for n, port in enumerate(row.ports) if fullest and loads[n] > fullest - LOAD_TOLERANCE]
    ipc = len(block.listing) / cycles if cycles else None
    return {**load_context(block, load), "full_ports": full, "ipc": ipc}
