"""Which ports a basic block keeps busy by a port mapping, instruction by instruction."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count

from inference.core.core_model.loop_branch import (
    iteration_terms,
    jump_schemes,
    loop_branch,
    with_branch_slot,
)
from inference.core.experiment import Experiment
from inference.core.mapping import Uops
from inference.core.schedule import Schedule, schedule
from inference.isa.blocks import Block
from inference.models import ISA, PortMapping, PortUsage
from inference.storage.core_models import fused_pairs
from inference.storage.mappings import load_part
from inference.storage.rows import ids_of_schemes

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
