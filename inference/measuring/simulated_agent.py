"""An agent's harness that simulates a processor: the same protocol, without a computer to measure on."""

from __future__ import annotations

import asyncio
import hashlib
import platform
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from inference.agent.protocol import Batch, Beat, Result
from inference.agent.reading import Json
from inference.core.errors import InvalidInputError
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.isa.blocks import Block, zero_bit_shifts
from inference.isa.start_values import StartValues
from inference.measuring.remote import result_of
from inference.measuring.simulated import NOTHING, SimulatedProcessor

_NOP = b"\x90"
_GHZ = 3.0  # that the simulated computer reports
_POLL_SECONDS = 0.05  # seconds between two looks at the clock while time passes


@dataclass(frozen=True)
class DummyCode:
    """Code that a simulated agent never executes: it reads an item's terms instead."""

    code: bytes = 2 * _NOP
    copies: int = 2
    half_bytes: int = 1
    half_copies: int = 1


def dummy_code(_instructions: Sequence[object]) -> DummyCode:
    return DummyCode()


class PacedHarness(ABC):
    """Answers batches without a computer (`inference.agent.passes.Harness`).

    Args:
        noise: Noise that heartbeats report.
        pace: Experiments per second, 0 for as many as possible.
        contended_share: Probability that a result is contended; the next try may settle.
        seed: Of that chance.

    Raises:
        InvalidInputError: For a negative pace, or a share outside [0, 1).
    """

    def __init__(self, *, noise: float, pace: float, contended_share: float, seed: int) -> None:
        if pace < 0:
            raise InvalidInputError(f"pace is a number of experiments per second ≥ 0, not {pace!r}")
        if not 0 <= contended_share < 1:
            raise InvalidInputError(f"contended_share is a probability in [0, 1), not {contended_share!r}")
        self._noise = noise
        self._pace = pace
        self._contended_share = contended_share
        self._seed = seed
        self._measuring = False
        self._rate: float | None = None
        self._tries: dict[str, int] = {}

    @abstractmethod
    async def _answers(self, batch: Batch) -> list[Result]:
        """One result per item, in order."""

    async def measure(self, batch: Batch, progress: Callable[[int, int], None]) -> list[Result]:
        """One result per item, at the pace of the simulation."""
        self._measuring = True
        began = time.monotonic()
        try:
            for done in range(len(batch.items)):
                progress(done, len(batch.items))
                await self._wait_until(began + (done + 1) / self._pace if self._pace else began)
            results = [self._disturb(result) for result in await self._answers(batch)]
        finally:
            self._measuring = False
        progress(len(results), len(results))
        self._rate = len(results) / max(time.monotonic() - began, 1e-6)
        return results

    def beat(self) -> Beat:
        state = "measuring" if self._measuring else "idle"
        return Beat(state, noise=self._noise, ghz=_GHZ, rate=self._rate)

    async def close(self) -> None:
        """There is nothing to stop."""
        return

    async def _wait_until(self, moment: float) -> None:
        await asyncio.sleep(0)
        while (remaining := moment - time.monotonic()) > 0:
            await asyncio.sleep(min(remaining, _POLL_SECONDS))

    def _disturb(self, result: Result) -> Result:
        """The result, or a contended one, with a probability that depends on the seed alone."""
        if result.cycles is None or not self._contended_share:
            return result
        number = self._tries[result.id] = self._tries.get(result.id, 0) + 1
        digest = hashlib.blake2b(f"{self._seed} {result.id} {number}".encode(), digest_size=4).digest()
        if int.from_bytes(digest) / 2**32 >= self._contended_share:
            return result
        return Result(result.id, "contended", result.cycles, result.spread, result.passes, "simulated")


class SimulatedHarness(PacedHarness):
    """Answers as a processor with this port mapping would, by the items' terms.

    `pace` and `contended_share` are those of `PacedHarness`, the other options those of `SimulatedProcessor`.
    """

    def __init__(
        self,
        mapping: PortMapping,
        *,
        noise: float = 0.0,
        noise_cpi: float = 0.0,
        outlier_share: float = 0.0,
        outlier_factor: float = 2.0,
        odd_share: float = 0.0,
        counters: str = NOTHING,
        seed: int = 0,
        pace: float = 0.0,
        contended_share: float = 0.0,
    ) -> None:
        super().__init__(noise=noise, pace=pace, contended_share=contended_share, seed=seed)
        self._processor = SimulatedProcessor(
            mapping,
            noise=noise,
            noise_cpi=noise_cpi,
            outlier_share=outlier_share,
            outlier_factor=outlier_factor,
            odd_share=odd_share,
            counters=counters,
            seed=seed,
        )

    async def _answers(self, batch: Batch) -> list[Result]:
        experiments = [Experiment.of(dict(item.terms)) for item in batch.items]
        measured = self._processor.measure(experiments)
        return [result_of(item.id, answer) for item, answer in zip(batch.items, measured, strict=True)]


def simulated_facts(name: str, mapping: PortMapping, counters: str = NOTHING, isa: str = "") -> Json:
    """The facts of a simulated computer, as `inference.agent.facts` reports those of a real one.

    Args:
        name: Name of the simulated processor.
        mapping: Its ports.
        counters: What its counters count.
        isa: The instruction set of the mapping, "" where that is unknown.
    """
    return {
        "simulated": True,
        "isa": isa,
        "cpu": f"simulated processor: {name}",
        "schemes": len(mapping.usage),
        "ports": len(mapping.ports),
        "host": socket.gethostname(),
        "system": platform.system(),
        "python": platform.python_version(),
        "counters": "none" if counters == NOTHING else counters,
        "unfit": "",
    }


def executing_facts(name: str, isa: str, mapping: PortMapping | None = None) -> Json:
    """The facts of a simulated computer that executes code, as far as they differ from an agent's.

    It can measure all that agents can, and reads an item's code, not its terms.

    Args:
        name: Name of the simulated core.
        isa: Its instruction set.
        mapping: Its ports, None where they are not known.
    """
    abilities = ("executes", "blocks", "offsets", "wide_blocks", "x87_blocks", "clear_masks", "latency_bound")
    facts = simulated_facts(name, mapping or PortMapping(("0",), {}), isa=isa)
    if mapping is None:
        del facts["schemes"], facts["ports"]
    return {
        **facts,
        "cpu": f"simulated core: {name}",
        **dict.fromkeys(abilities, True),
    }


def with_zero_counts(result: Result, block: Block, start: StartValues, cycles: float) -> Result:
    """The result of a block, each of whose shifts by a register of 0 takes additional cycles.

    Args:
        result: Without these cycles.
        block: The measured block.
        start: Start values of the block; a count that it computes itself is assumed not to be 0.
        cycles: Per shift; 0 for a machine without slow shifts.
    """
    if not cycles or result.cycles is None:
        return result
    return replace(result, cycles=result.cycles + cycles * zero_bit_shifts(block, start.registers))
