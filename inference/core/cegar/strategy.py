"""Blind spots of a benchmarking strategy: two port mappings with equal times for all its experiments.

A strategy is a set of experiments fixed beforehand, e.g. every scheme alone and every pair, or a scheme
together with many copies of each blocking instruction. It may miss differences that other experiments show,
as the uops.info algorithm does with its number of blocking instructions (thesis App. E.1). For a given number
of ports and µops all mappings are listed, so that finding no blind spot is a proof. Measurements count as
exact.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from inference.core.cegar.profiles import Fact, Profile, deciding_experiment, facts_of
from inference.core.cegar.shape import Candidate, Shape
from inference.core.errors import InvalidInputError, UnknownSchemeError
from inference.core.experiment import Experiment
from inference.core.identity import Distinction
from inference.core.mapping import PortMapping, Uops
from inference.core.tables import Int64s
from inference.core.throughput import inverse_throughput

MAX_MAPPINGS = 200_000
"""How many mappings are listed, at most; renamed ones count."""

_EXACT = 1e-9  # ε of measurements without error, in cycles per instruction
_BLOCK = 1 << 14  # mappings evaluated together: some megabytes per experiment


@dataclass(frozen=True)
class BlindSpot:
    """Two mappings with equal times for all of a strategy's experiments, and one that distinguishes them."""

    first: PortMapping
    second: PortMapping
    distinction: Distinction


def singletons_and_pairs(schemes: Sequence[str]) -> tuple[Experiment, ...]:
    """Every scheme alone, and one instruction of each of two (§5.2)."""
    alone = [Experiment.of([scheme]) for scheme in schemes]
    return (*alone, *(Experiment.of(pair) for pair in itertools.combinations(schemes, 2)))


def with_blocking(scheme: str, blocking: Iterable[str], copies: int) -> tuple[Experiment, ...]:
    """The scheme alone, and beside each blocking instruction (§6.1).

    Args:
        scheme: The scheme in question.
        blocking: Blocking instructions.
        copies: Copies of the blocking instruction, beside one instance of the scheme.
    """
    return (Experiment.of([scheme]), *(Experiment.of({scheme: 1, other: copies}) for other in blocking))


def blind_spot(
    strategy: Iterable[Experiment],
    *,
    ports: int,
    uops: Mapping[str, int],
    known_uops: Mapping[str, Uops] | None = None,
) -> BlindSpot | None:
    """Two mappings that the strategy does not distinguish, but another experiment does.

    Args:
        strategy: Experiments of the schemes in `uops` and `known_uops`.
        ports: The number of ports of both mappings.
        uops: {scheme: number of µops} of schemes whose ports are unknown.
        known_uops: {scheme: µops}, the same in both mappings.

    Returns:
        None for no blind spot. Mappings that no experiment at all distinguishes are none.

    Raises:
        UnknownSchemeError: An experiment has another scheme.
        InvalidInputError: There are more than `MAX_MAPPINGS` mappings.

    Example:
        >>> blind_spot(singletons_and_pairs(["a", "b"]), ports=2, uops={"a": 1, "b": 1}) is None
        True
    """
    search = _Search(ports, uops, known_uops or {})
    experiments = tuple(strategy)
    unknown = {s for e in experiments for s in e.schemes} - set(search.shape.schemes)
    if unknown:
        raise UnknownSchemeError(sorted(unknown))
    return next(search.blind_spots(experiments), None)


class _Search:
    """All mappings, numbered: mapping k has the k-th combination of a choice of port sets per scheme."""

    def __init__(self, ports: int, uops: Mapping[str, int], known_uops: Mapping[str, Uops]) -> None:
        both = sorted(uops.keys() & known_uops.keys())
        if both:
            raise InvalidInputError(f"the ports of {both[0]!r} are either known or not")
        masks = {s: tuple(mask for mask, n in known_uops[s] for _ in range(n)) for s in known_uops}
        schemes = sorted([*uops, *known_uops])
        counts = tuple(uops[s] if s in uops else len(masks[s]) for s in schemes)
        if ports < 1 or any(mask >> ports for row in masks.values() for mask in row) or 0 in counts:
            raise InvalidInputError(f"every scheme needs at least one µop, on ports 0 to {ports - 1}")
        number = math.prod(math.comb((1 << ports) - 2 + n, n) for n in uops.values())
        if number > MAX_MAPPINGS:
            raise InvalidInputError(f"{number:,} mappings are too many to list; {MAX_MAPPINGS:,} are not")
        self.shape = Shape(tuple(schemes), counts, ports, _EXACT)
        self._choices = [
            list(itertools.combinations_with_replacement(range(1, 1 << ports), uops[s]))
            if s in uops
            else [masks[s]]
            for s in schemes
        ]

    def blind_spots(self, strategy: Sequence[Experiment]) -> Iterator[BlindSpot]:
        """A blind spot for each set of mappings with equal times, if another experiment distinguishes any."""
        groups: dict[bytes, list[int]] = {}
        for k, answer in enumerate(self._answers(strategy)):
            groups.setdefault(answer.tobytes(), []).append(k)
        for group in groups.values():
            first, facts = self._candidate(group[0]), facts_of(self.shape, self._candidate(group[0]))
            profiles = {facts}
            for k in group[1:]:
                second = self._candidate(k)
                second_facts = facts_of(self.shape, second)
                experiment = None if second_facts in profiles else self._distinguish(facts, second_facts)
                profiles.add(second_facts)
                if experiment is not None:
                    yield self._blind_spot(first, second, experiment)
                    break

    def _answers(self, strategy: Sequence[Experiment]) -> Iterator[Int64s]:
        """The times of each mapping, in a unit in which all are integers, so that they compare exactly."""
        ports = self.shape.ports
        unit = math.lcm(*range(1, ports + 1))
        sets = np.arange(1, 1 << ports)
        weight = np.array([unit // int(ports_set).bit_count() for ports_set in sets])
        # By scheme, int64[choices, port sets]: the load on each port set from the µops confined to it.
        inside = [
            (np.array(choices)[:, :, None] & ~sets == 0).sum(axis=1) * weight for choices in self._choices
        ]
        terms = np.array([[dict(e.terms).get(s, 0) for s in self.shape.schemes] for e in strategy])
        sizes = [len(choices) for choices in self._choices]
        for start in range(0, math.prod(sizes), _BLOCK):
            picks = np.unravel_index(np.arange(start, min(start + _BLOCK, math.prod(sizes))), sizes)
            answers = [
                sum(n * load[pick] for n, load, pick in zip(row, inside, picks, strict=True) if n).max(axis=1)
                for row in terms
            ]
            yield from np.ascontiguousarray(np.transpose(answers))

    def _candidate(self, k: int) -> Candidate:
        """The matrix of mapping k."""
        sizes = [len(choices) for choices in self._choices]
        picks = np.unravel_index(k, sizes)
        rows = (choices[int(i)] for choices, i in zip(self._choices, picks, strict=True))
        return tuple(itertools.chain.from_iterable(rows))

    def _distinguish(self, first: tuple[Fact, ...], second: tuple[Fact, ...]) -> Experiment | None:
        """An experiment of any length for which the two differ; None for none."""
        for facts, opposite in ((first, second), (second, first)):
            profile = Profile(self.shape, facts)
            for fact in opposite:
                shares = profile.slower(fact)
                if shares is not None:
                    return deciding_experiment(self.shape, facts, opposite, shares)
        return None

    def _blind_spot(self, first: Candidate, second: Candidate, experiment: Experiment) -> BlindSpot:
        mappings = self.shape.mapping(first), self.shape.mapping(second)
        times = [inverse_throughput(mapping, experiment) for mapping in mappings]
        return BlindSpot(*mappings, Distinction(experiment, *times))
