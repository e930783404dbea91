"""What a benchmarking strategy cannot see: two port mappings that it measures alike.

A strategy is a set of experiments fixed beforehand, e.g. every scheme alone and every pair, or a scheme
together with many copies of each blocking instruction. It may miss what other experiments would show, as the
number of blocking instructions of the uops.info algorithm does (thesis App. E.1). For a given number of ports
and of µops all mappings are listed, so that finding no such two is a proof. Measurements are taken as exact.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from inference.core.cegar.profiles import Fact, Profile, facts_of, telling
from inference.core.cegar.shape import Candidate, Shape
from inference.core.errors import InvalidInputError, UnknownSchemeError
from inference.core.experiment import Experiment
from inference.core.identity import Distinction
from inference.core.mapping import PortMapping, Uops
from inference.core.tables import Int64s
from inference.core.throughput import inverse_throughput

MOST_MAPPINGS = 200_000
"""How many mappings are listed, at most; renamed ones count."""

_EXACT = 1e-9  # ε of measurements without error, in cycles per instruction
_BLOCK = 1 << 14  # mappings looked at together


@dataclass(frozen=True)
class BlindSpot:
    """Two mappings that take equally long for all of a strategy's experiments, and one that would tell."""

    first: PortMapping
    second: PortMapping
    told_by: Distinction


def singletons_and_pairs(schemes: Sequence[str]) -> tuple[Experiment, ...]:
    """Every scheme alone, and one instruction of each of two (§5.2)."""
    alone = [Experiment.of([scheme]) for scheme in schemes]
    return (*alone, *(Experiment.of(pair) for pair in itertools.combinations(schemes, 2)))


def with_blocking(scheme: str, blocking: Iterable[str], copies: int) -> tuple[Experiment, ...]:
    """The scheme alone, and with so many copies of each blocking instruction (§6.1)."""
    return (Experiment.of([scheme]), *(Experiment.of({scheme: 1, other: copies}) for other in blocking))


def blind_spot(
    strategy: Iterable[Experiment],
    *,
    ports: int,
    uops: Mapping[str, int],
    known: Mapping[str, Uops] | None = None,
) -> BlindSpot | None:
    """Two mappings that the strategy does not tell apart but another experiment would; None: there are none.

    `uops`: how many each scheme has whose ports are unknown. `known`: µops of the other schemes, the same in
    both mappings. Mappings that no experiment at all tells apart are no blind spot. Raises
    `UnknownSchemeError` for experiments with other schemes, and `InvalidInputError` where there would be more
    than `MOST_MAPPINGS` mappings.
    """
    search = _Search(ports, uops, known or {})
    asked = tuple(strategy)
    strangers = {scheme for experiment in asked for scheme in experiment.schemes} - set(search.shape.schemes)
    if strangers:
        raise UnknownSchemeError(sorted(strangers))
    return next(search.blind_spots(asked), None)


class _Search:
    def __init__(self, ports: int, uops: Mapping[str, int], known: Mapping[str, Uops]) -> None:
        both = sorted(uops.keys() & known.keys())
        if both:
            raise InvalidInputError(f"the ports of {both[0]!r} are either known or not")
        masks = {s: tuple(mask for mask, n in known[s] for _ in range(n)) for s in known}
        schemes = sorted([*uops, *known])
        counts = tuple(uops[s] if s in uops else len(masks[s]) for s in schemes)
        if ports < 1 or any(mask >> ports for kept in masks.values() for mask in kept) or 0 in counts:
            raise InvalidInputError(
                f"every scheme must have µops with ports among the {ports} that there are"
            )
        number = math.prod(math.comb((1 << ports) - 2 + n, n) for n in uops.values())
        if number > MOST_MAPPINGS:
            raise InvalidInputError(f"{number:,} mappings are too many to list; {MOST_MAPPINGS:,} are not")
        self.shape = Shape(tuple(schemes), counts, ports, _EXACT)
        self._choices = [
            list(itertools.combinations_with_replacement(range(1, 1 << ports), uops[s]))
            if s in uops
            else [masks[s]]
            for s in schemes
        ]

    def blind_spots(self, strategy: Sequence[Experiment]) -> Iterator[BlindSpot]:
        """Of every set of mappings that are measured alike, one that differs from the first, if any does."""
        groups: dict[bytes, list[int]] = {}
        for k, answer in enumerate(self._answers(strategy)):
            groups.setdefault(answer.tobytes(), []).append(k)
        for group in groups.values():
            first, facts = self._candidate(group[0]), facts_of(self.shape, self._candidate(group[0]))
            seen = {facts}
            for k in group[1:]:
                second = self._candidate(k)
                others = facts_of(self.shape, second)
                experiment = None if others in seen else self._telling(facts, others)
                seen.add(others)
                if experiment is not None:
                    yield self._told(first, second, experiment)
                    break

    def _answers(self, strategy: Sequence[Experiment]) -> Iterator[Int64s]:
        """What each mapping would be measured as, in a unit that makes all times whole."""
        ports = self.shape.ports
        unit = math.lcm(*range(1, ports + 1))
        sets = np.arange(1, 1 << ports)
        weight = np.array([unit // int(ports_set).bit_count() for ports_set in sets])
        inside = [
            (np.array(choices)[:, :, None] & ~sets == 0).sum(axis=1) * weight for choices in self._choices
        ]
        terms = np.array([[dict(e.terms).get(s, 0) for s in self.shape.schemes] for e in strategy])
        sizes = [len(choices) for choices in self._choices]
        for start in range(0, math.prod(sizes), _BLOCK):
            picks = np.unravel_index(np.arange(start, min(start + _BLOCK, math.prod(sizes))), sizes)
            answers = [
                sum(n * each[pick] for n, each, pick in zip(row, inside, picks, strict=True) if n).max(axis=1)
                for row in terms
            ]
            yield from np.ascontiguousarray(np.transpose(answers))

    def _candidate(self, k: int) -> Candidate:
        sizes = [len(choices) for choices in self._choices]
        picks = np.unravel_index(k, sizes)
        rows = (choices[int(i)] for choices, i in zip(self._choices, picks, strict=True))
        return tuple(itertools.chain.from_iterable(rows))

    def _telling(self, first: tuple[Fact, ...], second: tuple[Fact, ...]) -> Experiment | None:
        """An experiment of any length for which the two differ, None where there is none."""
        for facts, others in ((first, second), (second, first)):
            profile = Profile(self.shape, facts)
            for fact in others:
                shares = profile.slower(fact)
                if shares is not None:
                    return telling(self.shape, facts, others, shares)
        return None

    def _told(self, first: Candidate, second: Candidate, experiment: Experiment) -> BlindSpot:
        mappings = self.shape.mapping(first), self.shape.mapping(second)
        times = [inverse_throughput(mapping, experiment) for mapping in mappings]
        return BlindSpot(*mappings, Distinction(experiment, *times))
