"""The timeline of a loop with the names of what is in it, for pictures and files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from inference.core.loop.modelled import ModelledBlock
from inference.core.loop.simulated import simulated_block
from inference.core.loop.values import LoopAnalysis
from inference.core.simulation.timeline import NONE, Timeline, timeline_of

_MAX_IN_CELL = 3
"""Characters in a cell of a cycle."""
_MAX_UOPS = 10_000
"""µops in a timeline: a drawing of 100 instructions and 50 iterations stays quick, and its data small."""
_MAX_PERIOD = 8
"""Iterations of a period that is worth telling."""


@dataclass(frozen=True)
class LoopTimeline:
    """A simulated block.

    Args:
        title: What is simulated, on which core.
        timeline: Its iterations.
        instructions: The texts of its instructions, by their indices in the program.
        ports: The names of the ports.
        locations: {(producer, consumer, iterations): what the first instruction hands to the second}.
    """

    title: str
    timeline: Timeline
    instructions: tuple[str, ...]
    ports: tuple[str, ...]
    locations: Mapping[tuple[int, int, int], str]

    @property
    def uops(self) -> list[tuple[int, ...]]:
        """The places of the µops of each instruction that has any."""
        places: dict[int, list[int]] = {}
        for place, uop in enumerate(self.timeline.program.uops):
            places.setdefault(uop.instruction, []).append(place)
        return [tuple(rows) for rows in places.values()]

    @property
    def pace(self) -> str:
        """`4.00 cycles per iteration from iteration 3 on, repeating every 2 iterations`."""
        timeline = self.timeline
        pace = f"{timeline.cycles:.2f} cycles per iteration from iteration {timeline.steady_from} on"
        is_pattern = timeline.period is not None and 1 < timeline.period <= _MAX_PERIOD
        return f"{pace}, repeating every {timeline.period} iterations" if is_pattern else pace

    @property
    def assumption(self) -> str:
        return (
            "Assumed: instructions retire in order, in the cycle after their result at the earliest, "
            f"and at most {self.timeline.program.width} per cycle."
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """What is printed in a cell for each port: its name; of long ones the first letter and the number,
        or the port's number where these are not distinct.
        """
        initials = tuple(name[:1] + name[len(name.rstrip("0123456789")) :] for name in self.ports)
        for names in (self.ports, initials):
            if max(map(len, names)) <= _MAX_IN_CELL and len({*names}) == len(names):
                return names
        return tuple(map(str, range(len(self.ports))))

    def text_of(self, place: int) -> str:
        """The text of a µop's instruction."""
        return self.instructions[self.timeline.program.uops[place].instruction]

    def location(self, place: int, operand: int) -> str:
        """What a µop gets by one of its waits; "" where no single location hands it on."""
        uops = self.timeline.program.uops
        wait = uops[place].waits[operand]
        key = uops[wait.producer].instruction, uops[place].instruction, wait.iterations
        return self.locations.get(key, "")

    def port_name(self, port: int) -> str:
        return "" if port == NONE else self.ports[port]


def timeline_of_block(
    block: ModelledBlock, analysis: LoopAnalysis, title: str, iterations: int
) -> LoopTimeline:
    """The timeline of a block; its cycles are those of `LoopAnalysis.simulated`.

    Args:
        block: The block on its core.
        analysis: Analysis of the same block.
        title: Title as in `LoopTimeline`.
        iterations: 1 to `MAX_ITERATIONS`; of long blocks, fewer are simulated.

    Raises:
        CannotSimulateError: The core model does not have what a simulation needs.
    """
    simulated = simulated_block(block)
    limit = max(1, _MAX_UOPS // len(simulated.program.uops))
    locations = defaultdict[tuple[int, int, int], list[str]](list)
    for dependence in analysis.dependences:
        key = dependence.producer, dependence.consumer, dependence.iterations
        locations[key].append(dependence.location)
    return LoopTimeline(
        title,
        timeline_of(simulated.program, simulated.policy, min(iterations, limit)),
        tuple(instruction.text for instruction in analysis.instructions),
        analysis.ports,
        {key: " and ".join(dict.fromkeys(names)) for key, names in locations.items()},
    )
