"""Idioms and false dependencies of schemes, found by comparing chains; each with its two readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from inference.core.latency.reading import ChainReading, PairLatency, read_pair
from inference.core.protocols import Json
from inference.isa.chains import ChainLink, DependencyChain, IdiomChains

_MIN_QUICKER = 0.5
"""Cycles by which a latency with one register must be smaller to be a different one."""

_MIN_LONGER, _MIN_LONGER_SHARE = 0.25, 0.05
"""Cycles, and share of its throughput's, by which an instruction must take longer to have a dependency."""

_MAX_PORTLESS_SHARE = 0.9
"""Share of an ordinary instruction's time, below which an instruction cannot have used the same ports."""

_MAX_ELIMINATED = 0.1
"""Largest latency in cycles of an instruction that is not executed."""


class IdiomKind(StrEnum):
    """Special behaviour of a scheme for a choice of operands."""

    BREAKING = "dependency-breaking"
    """With equal registers it has no dependency on them."""
    ZEROING = "zero idiom"
    """As `BREAKING`, and it needs no port."""
    QUICKER = "quicker with one register"
    ELIMINATED = "eliminated move"
    PARTLY_ELIMINATED = "partly eliminated move"
    """Its latency is sometimes zero."""
    FALSE_DEPENDENCY = "false dependency"
    """It waits for the old value of its destination, which it does not read."""
    PARTIAL_REGISTER = "merges a partial register"
    """As `FALSE_DEPENDENCY`, where the destination is a part of a register."""


@dataclass(frozen=True, slots=True)
class Idiom:
    """An idiom of a scheme with these operands, and the two readings that show it.

    `latency` in cycles, None where it waits for nothing. `needs_port`: False where it is quicker than the
    ports of ordinary instructions allow, None where that does not show.
    """

    scheme: str
    kind: IdiomKind
    destination: str
    latency: float | None
    needs_port: bool | None
    measured: ChainReading
    compared: ChainReading

    def as_json(self) -> Json:
        """A plain object, with machine code in hexadecimal digits."""
        return {
            "kind": str(self.kind),
            "destination": self.destination,
            "latency": None if self.latency is None else round(self.latency, 3),
            "needs_port": self.needs_port,
            "measured": _reading_json(self.measured),
            "compared": _reading_json(self.compared),
        }


class IdiomReader:
    """Derives idioms from `readings` of chains.

    Args:
        connectors: Their latencies.
        additions: The chain of ordinary instructions without dependencies.
    """

    def __init__(
        self,
        readings: Mapping[DependencyChain, ChainReading],
        connectors: Mapping[ChainLink, float],
        additions: DependencyChain,
    ) -> None:
        self._readings = readings
        self._connectors = connectors
        self._additions = self._throughput(additions)

    def is_open(self, choice: IdiomChains, usual: PairLatency | None) -> bool:
        """Whether the chain without connectors leaves an idiom possible, so that the others have to decide.

        It does not where that chain waits, although its throughput would let it be quicker.
        """
        direct = self._readings.get(choice.pair.chains[0])
        per_instance = self._throughput(choice.independent)
        if direct is None or direct.cycles is None or per_instance is None:
            return True
        if choice.regular_link is None:
            return direct.cycles >= per_instance + _waiting_margin(per_instance)
        if usual is None or usual.least is None:
            return False
        quicker = usual.least - _MIN_QUICKER / 2  # a reading may be off
        return direct.cycles < quicker or per_instance > quicker

    def of_choice(self, choice: IdiomChains, usual: PairLatency | None) -> Idiom | None:
        """The idiom that a choice of operands shows; `usual`: the latency between different registers."""
        settled = self._settled_readings(choice.pair.chains)
        latency = read_pair(choice.pair, settled, self._connectors)
        if choice.regular_link is None:
            return self._of_old_value(choice, latency, settled)
        if usual is None or usual.least is None:
            return None
        return self._of_same_register(choice, latency, settled, usual.least, usual.readings)

    def _of_old_value(
        self, choice: IdiomChains, latency: PairLatency, settled: Sequence[ChainReading]
    ) -> Idiom | None:
        """Whether it waits for the old value of its destination, longer than its throughput requires."""
        apart, per_instance = self._readings.get(choice.independent), self._throughput(choice.independent)
        direct = next((reading for reading in settled if reading.chain == choice.pair.chains[0]), None)
        if apart is None or per_instance is None or direct is None or direct.cycles is None:
            return None
        is_waiting = direct.cycles >= per_instance + _waiting_margin(per_instance)
        if latency.best is None or latency.throughput_limited or not is_waiting:
            return None
        kind = IdiomKind.PARTIAL_REGISTER if choice.partial else IdiomKind.FALSE_DEPENDENCY
        link = choice.pair.link
        return Idiom(link.scheme, kind, link.destination, latency.best, None, direct, apart)

    def _of_same_register(
        self,
        choice: IdiomChains,
        latency: PairLatency,
        settled: Sequence[ChainReading],
        usual: float,
        usual_readings: Sequence[ChainReading],
    ) -> Idiom | None:
        """Whether it waits for nothing with equal registers, or less long."""
        link = choice.pair.link
        if latency.breaks:
            needs_port = self._needs_port(choice.independent)
            kind = IdiomKind.BREAKING if needs_port is None else IdiomKind.ZEROING
            measured = max(settled, key=lambda reading: len(reading.chain.links))
            compared = _most_similar(measured, usual_readings)
            return Idiom(link.scheme, kind, link.destination, None, needs_port, measured, compared)
        if latency.best is None or latency.throughput_limited or usual - latency.best < _MIN_QUICKER:
            return None
        first, compared = settled[0], _most_similar(settled[0], usual_readings)
        return Idiom(link.scheme, IdiomKind.QUICKER, link.destination, latency.best, None, first, compared)

    def of_move(self, pair: PairLatency, apart: DependencyChain) -> Idiom | None:
        """Whether the latency between different registers is that of no execution, always or sometimes."""
        throughput = self._readings.get(apart)
        if pair.least is None or pair.most is None or throughput is None or throughput.cycles is None:
            return None
        if pair.least > 1 - _MIN_QUICKER:
            return None
        always = pair.most <= _MAX_ELIMINATED
        kind = IdiomKind.ELIMINATED if always else IdiomKind.PARTLY_ELIMINATED
        measured = min(pair.readings, key=lambda reading: (reading.cycles is None, len(reading.chain.links)))
        return Idiom(
            pair.link.scheme,
            kind,
            pair.link.destination,
            pair.best,
            self._needs_port(apart),
            measured,
            throughput,
        )

    def _settled_readings(self, chains: Sequence[DependencyChain]) -> list[ChainReading]:
        readings = (self._readings.get(chain) for chain in chains)
        return [reading for reading in readings if reading is not None and reading.cycles is not None]

    def _throughput(self, apart: DependencyChain) -> float | None:
        """Cycles per instance of independent instructions; None where they did not settle."""
        reading = self._readings.get(apart)
        return None if reading is None or reading.cycles is None else reading.cycles / apart.instances

    def _needs_port(self, apart: DependencyChain) -> bool | None:
        """False where independent instances are quicker than ordinary ports allow, else None."""
        cycles = self._throughput(apart)
        if cycles is None or self._additions is None or cycles >= _MAX_PORTLESS_SHARE * self._additions:
            return None
        return False


def _waiting_margin(cycles: float) -> float:
    """Cycles beyond its throughput's that an instruction with a dependency takes at least."""
    return max(_MIN_LONGER, _MIN_LONGER_SHARE * cycles)


def _most_similar(measured: ChainReading, readings: Sequence[ChainReading]) -> ChainReading:
    """The settled reading whose number of links is nearest to that of `measured`."""
    links = len(measured.chain.links)
    settled = [reading for reading in readings if reading.cycles is not None]
    return min(settled, key=lambda reading: abs(len(reading.chain.links) - links))


def _reading_json(reading: ChainReading) -> Json:
    return {
        "code": reading.chain.code.hex(),
        "cycles": None if reading.cycles is None else round(reading.cycles / reading.chain.instances, 3),
        "spread": round(reading.spread, 3),
        "instances": reading.chain.instances,
        "loop": reading.chain.loop,
    }
