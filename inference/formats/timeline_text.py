"""The timeline of a loop as text, with the signs of llvm-mca's timeline view."""

from __future__ import annotations

from inference.core.loop.timeline import LoopTimeline
from inference.core.simulation.timeline import Timeline
from inference.core.texts import REPLACEMENT, UNSAFE

_LEGEND = "D dispatched   = waiting   e executing   E result available   - waiting to retire   R retired"


def write_timeline_text(loop: LoopTimeline) -> str:
    """A line per instruction and iteration, a column per cycle, and the ports that executed it."""
    timeline, uops = loop.timeline, loop.uops
    lines = [
        f"Timeline of {loop.title}: {loop.pace}",
        loop.assumption,
        _LEGEND,
        "",
        f"{'':10}{_digits(timeline.span, odd=True)}".rstrip(),
        f"{'Index':10}{_digits(timeline.span, odd=False)}".rstrip(),
        "",
    ]
    width = max(map(len, uops)) * (1 + max(map(len, loop.ports)))
    for iteration in range(timeline.iterations):
        for places in uops:
            index = f"[{iteration},{timeline.program.uops[places[0]].instruction}]"
            ports = " ".join(loop.port_name(int(port)) for port in timeline.port[iteration, list(places)])
            cells = _cells(timeline, iteration, list(places))
            lines.append(f"{index:10}{cells}   {ports:{width}}{loop.text_of(places[0])}")
    return "".join(f"{UNSAFE.sub(REPLACEMENT, line)}\n" for line in lines)


def _digits(span: int, *, odd: bool) -> str:
    """The last digits of the cycles in every second group of ten."""
    return "".join(str(cycle % 10) if cycle // 10 % 2 == odd else " " for cycle in range(span))


def _cells(timeline: Timeline, iteration: int, uops: list[int]) -> str:
    """The cycles of an instruction with these µops."""
    dispatched = int(timeline.dispatched[iteration, uops[0]])
    issued = int(timeline.issued[iteration, uops].min())
    done = int(timeline.done[iteration, uops].max())
    retired = int(timeline.retired[iteration, uops[-1]])
    life = "D" + "=" * (issued - dispatched - 1) + "e" * (done - issued) + "E" * (done > dispatched)
    life += "-" * (retired - dispatched - len(life)) + "R"
    blank = " " + "    ." * (timeline.span // 5 + 1)
    return blank[:dispatched] + life + blank[retired + 1 : timeline.span]
