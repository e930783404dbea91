"""Idioms and false dependencies of schemes, found by comparing chains: each with its two measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from inference.core.latency.reading import ChainReading, PairLatency, read_pair
from inference.core.protocols import Json
from inference.isa.chains import ChainLink, DependencyChain, IdiomChains

_QUICKER = 0.5
"""Cycles by which a latency with one register must be less to be another one."""
_LONGER, _LONGER_SHARE = 0.25, 0.05
"""Cycles, and share of its throughput's, by which an instruction must take longer to wait for anything."""
_NO_PORT = 0.9
"""Share of an ordinary instruction's time, below which one cannot have waited for the same ports."""
_ELIMINATED = 0.1
"""Cycles up to which a latency is that of no execution at all."""


class IdiomKind(StrEnum):
    """What a choice of operands makes of a scheme."""

    BREAKING = "dependency-breaking"
    """With one register it waits for nothing."""
    ZEROING = "zero idiom"
    """The same, and it needs no port."""
    QUICKER = "quicker with one register"
    ELIMINATED = "eliminated move"
    PARTLY_ELIMINATED = "partly eliminated move"
    """Sometimes it has no latency."""
    FALSE_DEPENDENCY = "false dependency"
    """It waits for what its destination held before, which it does not read."""
    PARTIAL_REGISTER = "merges a partial register"
    """The same, where the destination is a part of a register."""


@dataclass(frozen=True, slots=True)
class Idiom:
    """A fact about a scheme with these operands, and the two readings that it follows from.

    `latency` in cycles, None where it waits for nothing. `needs_port`: False where it is quicker than the
    ports that ordinary instructions need allow, None where that shows nothing.
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
    """Reads idioms off `readings` of chains.

    `known`: latencies of connectors. `additions`: the chain of ordinary instructions that wait for nothing.
    """

    def __init__(
        self,
        readings: Mapping[DependencyChain, ChainReading],
        known: Mapping[ChainLink, float],
        additions: DependencyChain,
    ) -> None:
        self._readings = readings
        self._known = known
        self._additions = self._each(additions)

    def is_open(self, asked: IdiomChains, usual: PairLatency | None) -> bool:
        """Whether an idiom is possible by the chain without connectors, so that the others have to decide.

        It is not where that chain waits, though its throughput would let it be quicker.
        """
        direct, each = self._readings.get(asked.pair.chains[0]), self._each(asked.apart)
        if direct is None or direct.cycles is None or each is None:
            return True
        if asked.usual is None:
            return direct.cycles >= each + _longer_than(each)
        if usual is None or usual.least is None:
            return False
        quicker = usual.least - _QUICKER / 2  # a reading may be off
        return direct.cycles < quicker or each > quicker

    def of_choice(self, asked: IdiomChains, usual: PairLatency | None) -> Idiom | None:
        """What a choice of operands shows; `usual`: the latency between different registers."""
        found = self._settled(asked.pair.chains)
        latency = read_pair(asked.pair, found, self._known)
        if asked.usual is None:
            return self._of_old_value(asked, latency, found)
        if usual is None or usual.least is None:
            return None
        return self._of_one_register(asked, latency, found, usual.least, usual.readings)

    def _of_old_value(
        self, asked: IdiomChains, latency: PairLatency, found: Sequence[ChainReading]
    ) -> Idiom | None:
        """Whether it waits for what its destination held, longer than its throughput asks for."""
        apart, each = self._readings.get(asked.apart), self._each(asked.apart)
        direct = next((one for one in found if one.chain == asked.pair.chains[0]), None)
        if apart is None or each is None or direct is None or direct.cycles is None:
            return None
        if latency.best is None or latency.throughput_limited or direct.cycles < each + _longer_than(each):
            return None
        kind = IdiomKind.PARTIAL_REGISTER if asked.partial else IdiomKind.FALSE_DEPENDENCY
        link = asked.pair.link
        return Idiom(link.scheme, kind, link.destination, latency.best, None, direct, apart)

    def _of_one_register(
        self,
        asked: IdiomChains,
        latency: PairLatency,
        found: Sequence[ChainReading],
        usual: float,
        usual_readings: Sequence[ChainReading],
    ) -> Idiom | None:
        """Whether it waits for nothing then, or less long."""
        link = asked.pair.link
        if latency.breaks:
            needs_port = self._needs_port(asked.apart)
            kind = IdiomKind.BREAKING if needs_port is None else IdiomKind.ZEROING
            measured = max(found, key=lambda one: len(one.chain.links))
            compared = _alike(measured, usual_readings)
            return Idiom(link.scheme, kind, link.destination, None, needs_port, measured, compared)
        if latency.best is None or latency.throughput_limited or usual - latency.best < _QUICKER:
            return None
        compared = _alike(found[0], usual_readings)
        return Idiom(link.scheme, IdiomKind.QUICKER, link.destination, latency.best, None, found[0], compared)

    def of_move(self, pair: PairLatency, apart: DependencyChain) -> Idiom | None:
        """Whether the latency between different registers is that of no execution, always or sometimes."""
        throughput = self._readings.get(apart)
        if pair.least is None or pair.most is None or throughput is None or throughput.cycles is None:
            return None
        if pair.least > 1 - _QUICKER:
            return None
        always = pair.most <= _ELIMINATED
        kind = IdiomKind.ELIMINATED if always else IdiomKind.PARTLY_ELIMINATED
        measured = min(pair.readings, key=lambda one: (one.cycles is None, len(one.chain.links)))
        return Idiom(
            pair.link.scheme,
            kind,
            pair.link.destination,
            pair.best,
            self._needs_port(apart),
            measured,
            throughput,
        )

    def _settled(self, chains: Sequence[DependencyChain]) -> list[ChainReading]:
        found = (self._readings.get(chain) for chain in chains)
        return [one for one in found if one is not None and one.cycles is not None]

    def _each(self, apart: DependencyChain) -> float | None:
        found = self._readings.get(apart)
        return None if found is None or found.cycles is None else found.cycles / apart.instances

    def _needs_port(self, apart: DependencyChain) -> bool | None:
        cycles = self._each(apart)
        if cycles is None or self._additions is None or cycles >= _NO_PORT * self._additions:
            return None
        return False


def _longer_than(each: float) -> float:
    """Cycles that an instruction takes more than its throughput's where it waits for anything."""
    return max(_LONGER, _LONGER_SHARE * each)


def _alike(measured: ChainReading, readings: Sequence[ChainReading]) -> ChainReading:
    """Of the readings that settled, the one with as many links as this, or nearly."""
    links = len(measured.chain.links)
    settled = [one for one in readings if one.cycles is not None]
    return min(settled, key=lambda one: abs(len(one.chain.links) - links))


def _reading_json(one: ChainReading) -> Json:
    return {
        "code": one.chain.code.hex(),
        "cycles": None if one.cycles is None else round(one.cycles / one.chain.instances, 3),
        "spread": round(one.spread, 3),
        "instances": one.chain.instances,
        "loop": one.chain.loop,
    }
