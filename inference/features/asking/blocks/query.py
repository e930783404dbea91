"""Basic blocks beside what is known of them: rows of their schemes, and what port mappings predict."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db.models import Count

from inference.core.core_model.loop_branch import (
    LoopBranch,
    iteration_terms,
    jump_schemes,
    loop_branch,
    with_branch_slot,
)
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping as MappingValue
from inference.core.mapping import Uops
from inference.core.schedule import Schedule, schedule
from inference.core.throughput import inverse_throughput
from inference.isa.blocks import Block
from inference.models import ISA, PortMapping, PortUsage
from inference.storage.core_models import fused_pairs
from inference.storage.rows import ids_of_schemes, load_part, load_parts

MOST_MAPPINGS = 8
"""Predictions shown of one block, by the newest mappings that describe it."""


@dataclass(frozen=True)
class BlockPrediction:
    """Cycles per iteration that the ports of a mapping allow; dependencies are not seen."""

    mapping: PortMapping
    cycles: float


def scheme_rows(blocks: Sequence[Block], isa: ISA) -> dict[str, int]:
    """{scheme text: row id} of all schemes that occur."""
    return ids_of_schemes(isa.pk, (text for block in blocks for text, _ in block.terms))


def predictions_of(blocks: Sequence[Block], isa: ISA, rows: Mapping[str, int]) -> list[list[BlockPrediction]]:
    """Of each block what the newest mappings say that describe all of its instructions; two queries."""
    jumps = ids_of_schemes(isa.pk, (text for block in blocks for text in jump_schemes(block)))
    known = load_parts(isa, {row: text for text, row in {**rows, **jumps}.items()})
    pairs = FusedPairs()
    return [_predicted(block, known, pairs) for block in blocks]


class FusedPairs:
    """What `fused_pairs` says of the machine of a mapping, read once for each machine and for loops alone."""

    def __init__(self) -> None:
        self._known: dict[int | None, frozenset[str] | None] = {}

    def branch(self, block: Block, row: PortMapping, described: Collection[str]) -> LoopBranch | None:
        """How the branch of a loop counts in a mapping, None of a straight block."""
        if block.closing is None:
            return None
        if row.machine_id not in self._known:
            self._known[row.machine_id] = fused_pairs(row.machine_id)
        return loop_branch(block, described, self._known[row.machine_id])


def _predicted(
    block: Block, known: Sequence[tuple[PortMapping, MappingValue]], pairs: FusedPairs
) -> list[BlockPrediction]:
    if block.unknown or not block.terms:
        return []
    describing = ((row, value) for row, value in known if all(text in value.usage for text, _ in block.terms))
    found = []
    for row, value in islice(describing, MOST_MAPPINGS):
        terms = iteration_terms(block, pairs.branch(block, row, value.usage))
        found.append(BlockPrediction(row, inverse_throughput(with_branch_slot(value), Experiment.of(terms))))
    return found


# Which ports a basic block keeps busy by a port mapping, instruction by instruction.


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
    branch = FusedPairs().branch(block, row, value.usage)
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


MOST_BLOCKS = 500
"""In one run: its results travel with its row and its page."""
