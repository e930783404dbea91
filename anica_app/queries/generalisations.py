"""A generalisation as a tree: decisions without the blocks they rest on, and the blocks of one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anica_app.core.samples import Sample, unpack
from anica_app.models import Discovery, Generalisation, GeneralisationStep, SampleBatch
from inference.core.protocols import Json
from inference.queries.paging import PAGE_SIZE, Page, page_in_memory

_NODE = ("number", "kind", "expansion", "foreign", "taken", "reason", "n", "interesting", "failed", "mean")

BY_BLOCK, BY_LENGTH = "block", "length"


@dataclass(frozen=True, slots=True)
class Node:
    """One decision. `expansion` is ours, else `foreign` is the imported one; see `GeneralisationStep`."""

    number: int
    kind: str
    expansion: Json | None
    foreign: object
    taken: bool
    reason: str
    n: int
    interesting: int | None
    failed: int
    mean: float | None


@dataclass(frozen=True)
class Tree:
    """A generalisation with all its decisions, in order: those taken are the spine, the others leave it."""

    generalisation: Generalisation
    nodes: tuple[Node, ...]


def generalisations_of(discovery: Discovery) -> list[Generalisation]:
    """Those that led to a discovery or to what it includes, in order (one query), without their documents."""
    rows = discovery.generalisations.defer("start", "result", "foreign", "facts")
    return list(rows.order_by("number"))


def tree_of(generalisation: Generalisation) -> Tree:
    """All decisions (one query); no block is read."""
    rows = GeneralisationStep.objects.filter(generalisation=generalisation).order_by("number")
    return Tree(generalisation, tuple(Node(*row) for row in rows.values_list(*_NODE)))


def samples_of_step(generalisation: Generalisation, number: int) -> list[Sample] | None:
    """The blocks that a decision rests on, with all answers (one query); None where there is no such step."""
    rows = GeneralisationStep.objects.filter(generalisation=generalisation, number=number)
    packed = rows.values_list("samples", flat=True).first()
    return None if packed is None else unpack(bytes(packed))


def samples_of_batch(batch: SampleBatch) -> list[Sample]:
    """The blocks of a round, with all answers."""
    return unpack(bytes(batch.samples))


def sample_page(
    samples: Sequence[Sample],
    order: str = BY_BLOCK,
    *,
    descending: bool = False,
    number: int = 0,
    size: int = PAGE_SIZE,
) -> Page[Sample]:
    """A page of samples, by `BY_BLOCK` (as sampled), `BY_LENGTH` (bytes), or a tool's place from 1 as text.

    Failures come behind all numbers, whichever way these are sorted.
    """
    rows = list(samples)
    if order == BY_LENGTH:
        rows.sort(key=lambda one: len(one.code), reverse=descending)
    elif order.isdecimal() and samples and 1 <= int(order) <= len(samples[0].answers):
        place, sign = int(order) - 1, -1 if descending else 1
        rows.sort(key=lambda one: _behind_failures(one, place, sign))
    elif descending:
        rows.reverse()
    return page_in_memory(rows, number, size)


def _behind_failures(sample: Sample, place: int, sign: int) -> tuple[bool, float]:
    cycles = sample.answers[place].cycles
    return cycles is None, 0.0 if cycles is None else sign * cycles
