"""How many ports a search needs, which domains have ports of their own, and what is left unexplained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from inference.core.cegar.clashing import as_clash, culprit, is_explainable, minimal_clash, to_drop
from inference.core.cegar.events import (
    ClashFound,
)
from inference.core.cegar.problem import (
    ClashError,
)
from inference.core.cegar.search import CegarSearch
from inference.core.cegar.settings import LEAVE_UNEXPLAINED, STOP
from inference.core.cegar.solving import SolverLimitError
from inference.core.cegar.waiving import descended, least_waiver, left_by
from inference.core.events import Log
from inference.core.mapping import PortMapping

_UNEXPLAINED = "left unexplained: {} takes {:.4g} cycles, which no mapping to {} ports explains with the rest"

_TRIFLE = 2  # by which what is left unexplained may weigh more where domains are kept apart

_NO_BETTER = 2  # ports more that explain no more, after which fewer are enough

_TOGETHER = "{} and {} schemes share ports: that explains more"


class PortChoice:
    """The fewest ports that explain what is to be explained, and what gives way where none do."""

    def __init__(self, search: CegarSearch) -> None:
        self._search = search

    def first(self) -> int:
        """With how many ports to begin."""
        return self._search.settings.ports or self.enough(self._search.problem.least_ports)

    def after_contradiction(self, ports: int) -> int:
        """How many ports to go on with when `ports` explain no more."""
        self._together(self._search.settings.ports or self._search.settings.most_ports)
        if self._search.settings.ports is None:
            return self.enough(ports if self._search.settings.on_clash == LEAVE_UNEXPLAINED else ports + 1)
        if self._search.settings.on_clash == LEAVE_UNEXPLAINED:
            self._waive(ports)
        else:
            self._leave_out()
        return ports

    def _waive(self, ports: int, most: int | None = None) -> bool:
        """Waive as little as so many ports need; False where that weighs more than `most`.

        What contradicts one another however much is waived is measured again first: it may have been one bad
        reading.
        """
        shape = self._search.shape(ports)
        limit, pulse = self._search.settings.solver_limit, self._search.pulse
        while True:
            waiver = least_waiver(
                shape, self._search.readings.observations(shape), self._search.seed, limit, pulse, most
            )
            if most is not None or not self._search.readings.repeat(sorted(waiver.clashing)):
                break
        if waiver.waived is None:
            return False
        for experiment in sorted({each for each, _ in waiver.waived - self._search.waived}):
            cycles = self._search.readings.cycles(experiment)
            self._search.tell(Log("warning", _UNEXPLAINED.format(experiment, cycles, ports)))
        self._search.waived, self._search.weight = waiver.waived, waiver.weight
        return True

    def _together(self, ports: int) -> None:
        """Let domains share ports, as few pairs of them as that takes, if it explains more."""
        if not self._search.apart or self._explainable(ports):
            return
        pairs, self._search.apart = self._search.apart, ()
        least = self._least_weight(ports) or 0
        for pair in pairs:
            self._search.apart = (*self._search.apart, pair)
            if self._least_weight(ports, least + _TRIFLE) is None:
                self._search.apart = self._search.apart[:-1]
                self._search.tell(Log("info", _TOGETHER.format(*pair)))

    def _least_weight(self, ports: int, most: int | None = None) -> int | None:
        """Of what so many ports leave unexplained; None where it is more than `most`."""
        shape, (limit, pulse) = (
            self._search.shape(ports),
            (self._search.settings.solver_limit, self._search.pulse),
        )
        observations = self._search.readings.observations(shape)
        waiver = least_waiver(shape, observations, self._search.seed, limit, pulse, most)
        return None if waiver.waived is None else waiver.weight

    def enough(self, ports: int) -> int:
        """The smallest number of ports from there on that explains everything so far."""
        most = self._search.settings.most_ports
        self._together(most)
        if self._search.settings.on_clash == LEAVE_UNEXPLAINED:
            if not self._explainable(most):
                self._waive(most)
            least = self._search.weight
            while ports < most and not self._explainable(ports) and not (least and self._waive(ports, least)):
                ports += 1
            return min(ports, most)
        while not self._explainable(most):
            self._leave_out()
        while ports < most and not self._explainable(ports):
            ports += 1
        return min(ports, most)

    def nearest(self, earlier: Sequence[PortMapping]) -> PortMapping:
        """The best of earlier mappings and of what a local search finds until time is up.

        That is the fewest ports that leave as little unexplained as a few more.
        """
        best = min((*earlier, self._by_width()), key=self._left_by)
        least = self._left_by(best)
        try:
            for mapping in self._nearby() if least else ():
                if (weight := self._left_by(mapping)) < least:
                    best, least = mapping, weight
                if not least or len(mapping.ports) >= len(best.ports) + _NO_BETTER:
                    break
        except SolverLimitError:
            pass
        return best

    def _nearby(self) -> Iterator[PortMapping]:
        search = self._search
        for ports in range(search.settings.ports or search.problem.least_ports, self._most + 1):
            shape = search.shape(ports)
            observations = search.readings.observations(shape)
            yield from map(shape.mapping, descended(shape, observations, search.seed, search.pulse))

    def _by_width(self) -> PortMapping:
        """A mapping that needs no search: every µop on as many of the first ports as it takes alone."""
        search = self._search
        shape = search.shape(self._most)
        observations = search.readings.observations(shape)
        alone = {each.experiment.schemes[0]: each for each in observations if each.experiment.is_singleton}
        masks = []
        for scheme, count in zip(shape.schemes, shape.counts, strict=True):
            width = search.problem.widths.get(scheme) or (
                round(count / alone[scheme].cycles) if scheme in alone else 1
            )
            mask = (1 << min(max(width, 1), shape.ports)) - 1
            masks += [search.problem.known.get(scheme, mask)] * count
        return shape.mapping(tuple(masks))

    def _left_by(self, mapping: PortMapping) -> int:
        """The weight of what a mapping leaves unexplained."""
        shape = self._search.shape(len(mapping.ports))
        masks = [mask for s in shape.schemes for mask, count in mapping.usage[s] for _ in range(count)]
        return left_by(self._search.readings.observations(shape), tuple(masks)).weight

    @property
    def _most(self) -> int:
        return self._search.settings.ports or self._search.settings.most_ports

    def _explainable(self, ports: int) -> bool:
        shape = self._search.shape(ports)
        found = self._search.to_explain(shape)
        return is_explainable(
            shape, found, self._search.seed, self._search.settings.solver_limit, self._search.pulse
        )

    def _leave_out(self) -> None:
        """Drop schemes because of measurements that contradict; raises `ClashError` if that is not wanted."""
        shape = self._search.shape(self._search.settings.ports or self._search.settings.most_ports)
        seen = self._search.readings.observations(shape)
        found = minimal_clash(
            shape, seen, self._search.seed, self._search.settings.solver_limit, self._search.pulse
        )
        clash = as_clash(found, seen, shape.ports)
        if self._search.settings.on_clash != STOP:
            dropped = to_drop(culprit(found, seen), self._search.schemes, self._search.settings.on_clash)
            clash = replace(clash, dropped=dropped)
            self._search.schemes = [scheme for scheme in self._search.schemes if scheme not in dropped]
        self._search.clashes.append(clash)
        self._search.tell(ClashFound.of(clash))
        if self._search.settings.on_clash == STOP or not self._search.schemes:
            raise ClashError(clash)
