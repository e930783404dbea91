"""Experiments that tell two port mappings apart (thesis §4.2.2 and §4.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from inference.core.errors import InvalidInputError, UnknownSchemeError
from inference.core.experiment import Experiment
from inference.core.identity.canonical import same_up_to_renaming
from inference.core.identity.constructing import constructed
from inference.core.identity.question import DistinguishingQuestion, SchemeClass, decimal
from inference.core.identity.renumbering import part_of
from inference.core.identity.searching import searched
from inference.core.mapping import R_MAX_RANGE, PortMapping
from inference.core.throughput import inverse_throughput
from inference.core.tunables import check_number, check_whole

LONGEST = 1_000_000

SEARCHED_LENGTH = 4
"""How long three-level experiments get where no limit is given."""


@dataclass(frozen=True)
class Distinction:
    """An experiment, and the inverse throughput that each of two mappings predicts for it, in cycles."""

    experiment: Experiment
    first: float
    second: float


def distinguishing_experiment(
    a: PortMapping,
    b: PortMapping,
    *,
    noise: float = 0.0,
    r_max: float | None = None,
    max_length: int | None = None,
    schemes: Sequence[str] | None = None,
    pulse: Callable[[], None] = lambda: None,
) -> Distinction | None:
    """A smallest experiment for which the mappings predict inverse throughputs that measuring can tell apart.

    The predictions, within each mapping's limits, differ by more than 2 · noise · |e| cycles: no measurement
    that is off by less than `noise` cycles per instruction agrees with both (§4.3). `r_max` (instructions per
    cycle) holds for both mappings; None leaves each its own. `schemes`: those to make experiments of; by
    default all that both mappings describe. Of the smallest experiments, the first when their instructions
    are listed in ascending order is returned, e.g. `a; a` before `a; b` before `b; b`. All comparisons are
    exact; `noise` and `r_max` count as the decimal numbers that they are written as (0.02 is 1/50).

    None: there is no such experiment of up to `max_length` instructions. In the two-level model (every scheme
    has one µop) and without `max_length`, there is none of any length: either the mappings are the same up to
    a renaming of ports, or wherever they differ the noise or R_max hides it. In the three-level model
    experiments of up to `max_length` instructions, `SEARCHED_LENGTH` by default, are all that is looked at:
    None may mean that a longer one exists, or that the mappings are indistinguishable although no renaming
    makes them equal.

    In the two-level model the experiment is constructed, and has at most as many instructions as there are
    ports; time grows with the number of different unions of as many port sets as the experiment has
    instructions. In the three-level model it is searched for among the multisets of schemes that the two
    mappings do not both treat alike; a few milliseconds per ten thousand of these.

    Raises `InvalidInputError` for numbers out of range, `UnknownSchemeError` for unknown schemes, and lets
    through what `pulse` raises, which is called all the time.
    """
    question = _question(a, b, noise, r_max, schemes, pulse)
    if max_length is not None:
        check_whole("max_length", max_length, 1, LONGEST)
    if not question.classes or _are_equal(a, b, question):
        return None
    if question.is_two_level:
        found = constructed(question, max_length)
    else:
        found = searched(question, SEARCHED_LENGTH if max_length is None else max_length)
    if found is None:
        return None
    experiment = Experiment.of([question.classes[k].scheme for k in found])
    first, second = (
        inverse_throughput(replace(mapping, r_max=rate), experiment)
        for mapping, rate in zip((a, b), question.rates, strict=True)
    )
    return Distinction(experiment, first, second)


def _question(
    a: PortMapping,
    b: PortMapping,
    noise: float,
    r_max: float | None,
    schemes: Sequence[str] | None,
    pulse: Callable[[], None],
) -> DistinguishingQuestion:
    if not (math.isfinite(noise) and noise >= 0):
        raise InvalidInputError(
            f"noise must be a finite number of cycles per instruction >= 0, not {noise!r}"
        )
    if r_max is not None:
        check_number("R_max", r_max, *R_MAX_RANGE)
    chosen = sorted(a.usage.keys() & b.usage.keys() if schemes is None else set(schemes))
    unknown = [scheme for scheme in chosen if scheme not in a.usage or scheme not in b.usage]
    if unknown:
        raise UnknownSchemeError(unknown)
    return DistinguishingQuestion(
        classes=DistinguishingQuestion.classes_of(
            SchemeClass(scheme, (a.usage[scheme], b.usage[scheme]), (a.slots_of(scheme), b.slots_of(scheme)))
            for scheme in chosen
        ),
        margin=2 * decimal(noise),
        rates=(a.r_max, b.r_max) if r_max is None else (r_max, r_max),
        widths=(a.issue_width, b.issue_width),
        pulse=pulse,
    )


def _are_equal(a: PortMapping, b: PortMapping, question: DistinguishingQuestion) -> bool:
    """Whether a renaming of ports makes equal what the question is about."""
    if question.per_slot[0] != question.per_slot[1] or any(
        each.slots[0] != each.slots[1] for each in question.classes if any(question.per_slot)
    ):
        return False
    schemes = [each.scheme for each in question.classes]
    n_ports = max(len(a.ports), len(b.ports))
    return question.floors[0] == question.floors[1] and same_up_to_renaming(
        part_of(a, schemes, n_ports), part_of(b, schemes, n_ports)
    )
