"""Doubts about characterised schemes.

They are about times that a scheme's ports do not explain, overlaps of port sets that no time shows, and µops
on ports without a blocking instruction. A scheme with doubts keeps its µops, as the best result, but they do
not count as certain.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from inference.core.experiment import Experiment
from inference.core.explain.context import ERRORS, ExplainContext
from inference.core.explain.flooding import CLOCK, Blocker
from inference.core.explain.problem import Witness, WitnessOutcome
from inference.core.explain.units import is_apart_possible
from inference.core.mapping import PortMapping, Uops
from inference.core.throughput import inverse_throughput, port_bound
from inference.isa.domains import ExecutionDomain, domains_in


@dataclass(frozen=True)
class UnsettledPorts:
    """Doubts about schemes that were tested beside these blocking instructions.

    Attributes:
        context: Of the search.
        blockers: The blocking instructions.
        n_ports: Ports of all of them.
        r_max: Instructions per cycle, None without a limit.
    """

    context: ExplainContext
    blockers: Sequence[Blocker]
    n_ports: int
    r_max: float | None

    def of(self, scheme: str, usage: Uops, witnesses: Sequence[Witness]) -> Iterator[str]:
        """The doubts about one scheme, as sentences."""
        masks = {mask for mask, _ in usage}
        if unseen := self._classes_without_blocker(scheme):
            yield f"µops on the ports of {'; '.join(unseen)} would not show, as these ports were not found"
        for mask, (experiment, predicted, cycles) in self._unexplained_pairs.items():
            if mask in masks:
                yield (
                    f"the ports of {self._name(mask)} are not settled: {experiment} takes {cycles:.3g} "
                    f"cycles, they explain {predicted:.3g}"
                )
        for first, second in itertools.combinations(sorted(masks), 2):
            if first & second and (first, second) in self._unproven_overlaps:
                yield f"no time shows that {self._name(first)} and {self._name(second)} have ports in common"
        for mask in self._hidden_alone(usage):
            yield (
                f"no time of the scheme alone shows its µop on the ports of {self._name(mask)}, "
                "whose floods it may delay by a conflict for something else, such as a result bus"
            )
        for witness in witnesses:
            if witness.seen in (WitnessOutcome.USES, WitnessOutcome.EVADES) and self._is_wasteful(witness):
                yield (
                    f"delays {witness.blocker} by {witness.surplus:.2f} µops, of which "
                    f"{witness.below + witness.uops} are explained"
                )

    def _hidden_alone(self, usage: Uops) -> Iterator[int]:
        """Port sets of which the scheme needs no µop to take its time alone, beside another of their domain.

        Several instructions flood the ports of a second µop, but all of them may meet the first one's result.
        """
        domains, counts = self._domain_by_mask, dict(usage)
        time = port_bound(counts)
        for mask, count in usage:
            domain, fewer = domains.get(mask), counts | {mask: count - 1}
            beside = sum(fewer[other] for other in counts if domains.get(other) == domain)
            if domain not in (ExecutionDomain.INTEGER, ExecutionDomain.VECTOR) or not beside:
                continue
            if port_bound(fewer) > time - self.context.settings.epsilon:
                yield mask

    @cached_property
    def _domain_by_mask(self) -> dict[int, str]:
        domains = self.context.problem.domains
        return {
            blocker.mask: domains[blocker.scheme] for blocker in self._proper if blocker.scheme in domains
        }

    def _classes_without_blocker(self, scheme: str) -> list[str]:
        """Classes without ports, and so without a blocking instruction, in the domains of a scheme."""
        domains = self.context.problem.domains
        own_domains = {*domains_in(scheme), domains.get(scheme, "")}
        placed = {blocker.scheme for blocker in self.blockers}
        return [
            head for head in self.context.unplaced if domains.get(head) in own_domains and head not in placed
        ]

    def _name(self, mask: int) -> str:
        return next(blocker.scheme for blocker in self._proper if blocker.mask == mask)

    @cached_property
    def _proper(self) -> list[Blocker]:
        return [blocker for blocker in self.blockers if not blocker.improper]

    def _is_wasteful(self, witness: Witness) -> bool:
        if witness.surplus is None:
            return False
        sampler = self.context.sampler
        error = sampler.error(sampler.reading(witness.base)) + sampler.error(sampler.reading(witness.tested))
        off = self.context.settings.whole_epsilon + error * witness.mask.bit_count()
        return abs(witness.surplus - witness.below - witness.uops) > off

    @cached_property
    def _unexplained_pairs(self) -> dict[int, tuple[Experiment, float, float]]:
        """{port set: an experiment of two blocking instructions that is off by a part of a µop}."""
        sampler = self.context.sampler
        masks = {blocker.scheme: blocker.mask for blocker in self._proper}
        usage = {scheme: ((mask, 1),) for scheme, mask in masks.items()}
        widths = {scheme: mask.bit_count() for scheme, mask in masks.items()}
        mapping = PortMapping(tuple(map(str, range(self.n_ports))), usage, self.r_max)
        unexplained: dict[int, tuple[Experiment, float, float]] = {}
        for experiment in sampler.mixes_of(masks.keys()):
            reading, predicted = sampler.reading(experiment), inverse_throughput(mapping, experiment)
            _, width = max((count / widths[scheme], widths[scheme]) for scheme, count in experiment.terms)
            off = max(self.context.settings.whole_epsilon / width, CLOCK * predicted)
            off += ERRORS * sampler.error(reading)
            if reading.cycles is not None and abs(reading.cycles - predicted) > off:
                for scheme in experiment.schemes:
                    unexplained.setdefault(masks[scheme], (experiment, predicted, reading.cycles))
        return unexplained

    @cached_property
    def _unproven_overlaps(self) -> frozenset[tuple[int, int]]:
        """Pairs of overlapping port sets whose times disjoint sets would explain as well."""
        return frozenset(
            (min(first.mask, second.mask), max(first.mask, second.mask))
            for first, second in itertools.combinations(self._proper, 2)
            if first.mask & second.mask
            and is_apart_possible(self.context, first.scheme, second.scheme, self.r_max)
        )
