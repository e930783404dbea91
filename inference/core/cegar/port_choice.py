"""Choices of a search: the number of ports, domains with their own, measurements left unexplained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from inference.core.cegar.clashes import as_clash, culprit, is_explainable, minimal_clash, schemes_to_drop
from inference.core.cegar.events import ClashEvent
from inference.core.cegar.problem import ClashError
from inference.core.cegar.search import CegarSearch
from inference.core.cegar.settings import LEAVE_UNEXPLAINED, STOP
from inference.core.cegar.shape import Shape
from inference.core.cegar.waivers import Waiver, least_waiver, search_locally, waiver_for
from inference.core.cegar.z3_solver import SolverLimitError
from inference.core.events import Log
from inference.core.mapping import PortMapping

_UNEXPLAINED = "left unexplained: {} takes {:.4g} cycles, which no mapping to {} ports explains with the rest"
_TOGETHER = "{} and {} schemes share ports: that explains more"

_TRIFLE = 2
"""Weight of claims that keeping two domains apart may break: as much as one measurement that takes up to two
thirds of `WASTE` longer than its ports need, which a core's scheduler alone can cause."""

_NO_BETTER = 2
"""Ports to try beyond the best number so far: one more alone may not help where two do."""


class PortChoice:
    """Chooses the fewest ports that explain the measurements, and what to give up where none do."""

    def __init__(self, search: CegarSearch) -> None:
        self._search = search

    def first(self) -> int:
        """The number of ports to begin with: the given one, or the fewest that explain what is measured."""
        return self._search.settings.ports or self.fewest(self._search.problem.least_ports)

    def after_contradiction(self, ports: int) -> int:
        """The number of ports to continue with after `ports` no longer explain the measurements."""
        self._join_domains(self._search.settings.ports or self._search.settings.most_ports)
        if self._search.settings.ports is None:
            return self.fewest(ports if self._search.settings.on_clash == LEAVE_UNEXPLAINED else ports + 1)
        if self._search.settings.on_clash == LEAVE_UNEXPLAINED:
            self._waive(ports)
        else:
            self._drop_schemes()
        return ports

    def _waive(self, ports: int, max_weight: int | None = None) -> bool:
        """Waive the least weight with which these ports explain the rest; False if it exceeds `max_weight`.

        Contradicting experiments are measured again first: one of them may be a bad reading.
        """
        shape = self._search.shape(ports)
        while True:
            waiver = self._least_waiver(shape, max_weight)
            if max_weight is not None or not self._search.readings.repeat(sorted(waiver.clashing)):
                break
        if waiver.waived is None:
            return False
        for experiment in sorted({e for e, _ in waiver.waived - self._search.waived}):
            cycles = self._search.readings.cycles(experiment)
            self._search.emit(Log("warning", _UNEXPLAINED.format(experiment, cycles, ports)))
        self._search.waived, self._search.weight = waiver.waived, waiver.weight
        return True

    def _join_domains(self, ports: int) -> None:
        """Let as few pairs of domains as possible share ports, if that explains more."""
        if not self._search.apart or self._explains(ports):
            return
        pairs, self._search.apart = self._search.apart, ()
        lowest_weight = self._least_weight(ports) or 0
        for pair in pairs:
            self._search.apart = (*self._search.apart, pair)
            if self._least_weight(ports, lowest_weight + _TRIFLE) is None:
                self._search.apart = self._search.apart[:-1]
                self._search.emit(Log("info", _TOGETHER.format(*pair)))

    def _least_weight(self, ports: int, max_weight: int | None = None) -> int | None:
        """Weight of what so many ports leave unexplained; None where it exceeds `max_weight`."""
        waiver = self._least_waiver(self._search.shape(ports), max_weight)
        return None if waiver.waived is None else waiver.weight

    def _least_waiver(self, shape: Shape, max_weight: int | None) -> Waiver:
        search = self._search
        observations = search.readings.observations(shape)
        return least_waiver(
            shape, observations, search.seed, search.settings.solver_limit, search.pulse, max_weight
        )

    def fewest(self, ports: int) -> int:
        """The smallest number of ports, at least `ports`, that explains all measurements so far.

        Raises:
            ClashError: No number of ports does, and the settings say to stop.
        """
        max_ports = self._search.settings.most_ports
        self._join_domains(max_ports)
        # What the largest number of ports cannot explain, no smaller number can: it is waived, or its schemes
        # dropped, before fewer ports are tried. Those may leave as much unexplained, but not more.
        if self._search.settings.on_clash == LEAVE_UNEXPLAINED:
            if not self._explains(max_ports):
                self._waive(max_ports)
            lowest_weight = self._search.weight
            while (
                ports < max_ports
                and not self._explains(ports)
                and not (lowest_weight and self._waive(ports, lowest_weight))
            ):
                ports += 1
            return min(ports, max_ports)
        while not self._explains(max_ports):
            self._drop_schemes()
        while ports < max_ports and not self._explains(ports):
            ports += 1
        return min(ports, max_ports)

    def nearest(self, earlier: Sequence[PortMapping]) -> PortMapping:
        """The best of earlier mappings and of those that a local search finds until the time limit.

        It has the fewest ports that leave as little unexplained as `_NO_BETTER` more do.
        """
        best = min((*earlier, self._mapping_by_width()), key=self._unexplained_weight)
        lowest_weight = self._unexplained_weight(best)
        try:
            for mapping in self._nearby() if lowest_weight else ():
                if (weight := self._unexplained_weight(mapping)) < lowest_weight:
                    best, lowest_weight = mapping, weight
                if not lowest_weight or len(mapping.ports) >= len(best.ports) + _NO_BETTER:
                    break
        except SolverLimitError:
            pass  # the time reserved for the end is over: the best so far is the result
        return best

    def _nearby(self) -> Iterator[PortMapping]:
        """Mappings of local searches, for one number of ports after the other."""
        search = self._search
        for ports in range(search.settings.ports or search.problem.least_ports, self._most_ports + 1):
            shape = search.shape(ports)
            observations = search.readings.observations(shape)
            yield from map(shape.mapping, search_locally(shape, observations, search.seed, search.pulse))

    def _mapping_by_width(self) -> PortMapping:
        """A mapping without a search: each µop on the first n ports, n from the scheme's time alone."""
        search = self._search
        shape = search.shape(self._most_ports)
        observations = search.readings.observations(shape)
        alone = {o.experiment.schemes[0]: o for o in observations if o.experiment.is_singleton}
        masks = []
        for scheme, count in zip(shape.schemes, shape.counts, strict=True):
            width = search.problem.widths.get(scheme) or (
                round(count / alone[scheme].cycles) if scheme in alone else 1
            )
            mask = (1 << min(max(width, 1), shape.ports)) - 1
            masks += [search.problem.known.get(scheme, mask)] * count
        return shape.mapping(tuple(masks))

    def _unexplained_weight(self, mapping: PortMapping) -> int:
        """Weight of the measurements that a mapping leaves unexplained; 0 for none."""
        shape = self._search.shape(len(mapping.ports))
        masks = [mask for s in shape.schemes for mask, count in mapping.usage[s] for _ in range(count)]
        return waiver_for(self._search.readings.observations(shape), tuple(masks)).weight

    @property
    def _most_ports(self) -> int:
        return self._search.settings.ports or self._search.settings.most_ports

    def _explains(self, ports: int) -> bool:
        shape = self._search.shape(ports)
        observations = self._search.observations_to_explain(shape)
        return is_explainable(
            shape, observations, self._search.seed, self._search.settings.solver_limit, self._search.pulse
        )

    def _drop_schemes(self) -> None:
        """Drop schemes because of contradicting measurements.

        Raises:
            ClashError: The setting `on_clash` is "stop", or no scheme is left.
        """
        shape = self._search.shape(self._search.settings.ports or self._search.settings.most_ports)
        measured = self._search.readings.observations(shape)
        clashing = minimal_clash(
            shape, measured, self._search.seed, self._search.settings.solver_limit, self._search.pulse
        )
        clash = as_clash(clashing, measured, shape.ports)
        if self._search.settings.on_clash != STOP:
            dropped = schemes_to_drop(
                culprit(clashing, measured), self._search.schemes, self._search.settings.on_clash
            )
            clash = replace(clash, dropped=dropped)
            self._search.schemes = [scheme for scheme in self._search.schemes if scheme not in dropped]
        self._search.clashes.append(clash)
        self._search.emit(ClashEvent.of(clash))
        if self._search.settings.on_clash == STOP or not self._search.schemes:
            raise ClashError(clash)
