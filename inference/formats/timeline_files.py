"""The timeline of a loop as files: a trace in Chrome's Trace Event Format, and text.

In a trace, a cycle is a microsecond. The process "ports" has a thread per port with a slice per µop. The
process "instructions" has a thread per instruction, and more where its iterations overlap, with a slice from
dispatch to retirement and the parts of it inside. Arrows lead from a result to the µop that waited for it.
chrome://tracing and Perfetto read it: "Trace Event Format", Google,
https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.

The text has the signs of llvm-mca's timeline view.
"""

from __future__ import annotations

from collections.abc import Iterator

from inference.core.loop.timeline import LoopTimeline
from inference.core.protocols import Json
from inference.core.simulation.timeline import NONE, PortDelay, Timeline
from inference.core.texts import REPLACEMENT, UNSAFE
from inference.formats.provenance import PRODUCT
from inference.formats.quoting import json_text

_PORTS, _INSTRUCTIONS = 1, 2  # processes
_FIRST_PORT, _FIRST_THREAD = 101, 1001
"""Threads of ports and of instructions. Perfetto names a thread by its number alone, and takes one with the
number of a process for its main thread: no number occurs twice."""

_DELAYS = {
    PortDelay.OCCUPIED: "port taken by",
    PortDelay.RESULT_BUS: "result bus taken by",
    PortDelay.LOST_SLOT: "port's slot lost",
}


def write_timeline_trace(loop: LoopTimeline) -> str:
    """The trace as one JSON object, an event a line."""
    events = ",\n".join(json_text(event, separators=(",", ":")) for event in _events(loop))
    details = {
        "made by": PRODUCT,
        "title": loop.title,
        "pace": loop.pace,
        "assumption": loop.assumption,
        "unit": "1 cycle = 1 µs",
    }
    # With "ns", Chrome's viewer warns that the times are too coarse.
    return f'{{"displayTimeUnit":"ms","otherData":{json_text(details)},"traceEvents":[\n{events}\n]}}\n'


def _events(loop: LoopTimeline) -> Iterator[Json]:
    """Trace events: a process with a thread per port, and one with the instructions, overlaps apart."""
    for process, name in ((_PORTS, "ports"), (_INSTRUCTIONS, "instructions")):
        yield _metadata("process_name", process, 0, name=name)
        yield _metadata("process_sort_index", process, 0, sort_index=process)
    for port, name in enumerate(loop.ports):
        yield from _thread(_PORTS, _FIRST_PORT + port, f"port {name}")
    threads = _Threads(loop)
    for number, name in threads.names:
        yield from _thread(_INSTRUCTIONS, number, name)
    for iteration in range(loop.timeline.iterations):
        for places in loop.uops:
            yield from _instruction(loop, iteration, places, threads.of[iteration, places])
            for place in places:
                yield from _on_port(loop, iteration, place)
                yield from _operand(loop, iteration, place, threads)


class _Threads:
    """`of`: {(iteration, µops of an instruction): its thread}. `names`: (thread, name), in program order.

    Slices of a thread must not overlap, so an instruction has a thread for each iteration in flight.
    """

    def __init__(self, loop: LoopTimeline) -> None:
        self.of: dict[tuple[int, tuple[int, ...]], int] = {}
        self.names: list[tuple[int, str]] = []
        timeline = loop.timeline
        self._uops_of = {place: places for places in loop.uops for place in places}
        for places in loop.uops:
            free_at: list[int] = []  # by lane
            first = len(self.names) + _FIRST_THREAD
            for iteration in range(timeline.iterations):
                start, end = _span(loop, iteration, places)
                lane = next((lane for lane, free in enumerate(free_at) if free <= start), len(free_at))
                free_at[lane : lane + 1] = [end]
                self.of[iteration, places] = first + lane
            text = loop.text_of(places[0])
            self.names += [(first + lane, text) for lane in range(len(free_at))]

    def of_uop(self, iteration: int, place: int) -> int:
        return self.of[iteration, self._uops_of[place]]


def _span(loop: LoopTimeline, iteration: int, places: tuple[int, ...]) -> tuple[int, int]:
    """The cycle of an instruction's dispatch, and the one after its retirement."""
    timeline = loop.timeline
    return int(timeline.dispatched[iteration, places[0]]), int(timeline.retired[iteration, places[-1]]) + 1


def _instruction(loop: LoopTimeline, iteration: int, places: tuple[int, ...], thread: int) -> Iterator[Json]:
    """A slice from dispatch to retirement; inside, the parts of the µop that is done last."""
    timeline = loop.timeline
    start, end = _span(loop, iteration, places)
    details = {"iteration": iteration, "uops": len(places)}
    yield _slice(_INSTRUCTIONS, thread, loop.text_of(places[0]), start, end, details)
    last = max(places, key=lambda place: int(timeline.done[iteration, place]))
    issued, done = int(timeline.issued[iteration, last]), int(timeline.done[iteration, last])
    ready = min(timeline.earliest_issue(iteration, last), issued)
    dispatched = int(timeline.dispatched[iteration, last])
    port = loop.port_name(int(timeline.port[iteration, last]))
    for name, since, until, details in (
        ("waits for an operand", dispatched + 1, ready, _operand_facts(loop, iteration, last)),
        ("waits for its port", ready, issued, _delay_facts(loop, iteration, last)),
        (f"executes on port {port}", issued, done, {}),
        ("waits to retire", done, end - 1, {}),
    ):
        if until > since:
            yield _slice(_INSTRUCTIONS, thread, name, since, until, details)


def _on_port(loop: LoopTimeline, iteration: int, place: int) -> Iterator[Json]:
    """The cycles for which a µop occupies its port."""
    timeline = loop.timeline
    port, issued = int(timeline.port[iteration, place]), int(timeline.issued[iteration, place])
    if port == NONE:
        return
    details = {
        "iteration": iteration,
        "dispatched": int(timeline.dispatched[iteration, place]),
        "done": int(timeline.done[iteration, place]),
        "retired": int(timeline.retired[iteration, place]),
        **_operand_facts(loop, iteration, place),
        **_delay_facts(loop, iteration, place),
    }
    busy = timeline.program.uops[place].busy
    yield _slice(_PORTS, _FIRST_PORT + port, loop.text_of(place), issued, issued + busy, details)


def _operand(loop: LoopTimeline, iteration: int, place: int, threads: _Threads) -> Iterator[Json]:
    """The arrow from the producer of the value that a µop waited for."""
    timeline = loop.timeline
    wait = timeline.last_operand(iteration, place)
    if wait is None:
        return
    source = iteration - wait.iterations
    arrow: Json = {
        "name": loop.location(place, int(timeline.operand[iteration, place])) or "operand",
        "cat": "operand",
        "id": iteration * len(timeline.program.uops) + place,
        "pid": _INSTRUCTIONS,
    }
    issued = int(timeline.issued[source, wait.producer])
    yield {**arrow, "ph": "s", "ts": issued, "tid": threads.of_uop(source, wait.producer)}
    issued = int(timeline.issued[iteration, place])
    yield {**arrow, "ph": "f", "bp": "e", "ts": issued, "tid": threads.of_uop(iteration, place)}


def _operand_facts(loop: LoopTimeline, iteration: int, place: int) -> Json:
    timeline = loop.timeline
    wait = timeline.last_operand(iteration, place)
    if wait is None:
        return {}
    return {
        "waits for": loop.location(place, int(timeline.operand[iteration, place])) or "a value",
        "of": f"{loop.text_of(wait.producer)}, iteration {iteration - wait.iterations}",
        "until": int(timeline.ready[iteration, place]),
    }


def _delay_facts(loop: LoopTimeline, iteration: int, place: int) -> Json:
    timeline = loop.timeline
    delay, blocker = PortDelay(timeline.delay[iteration, place]), int(timeline.blocker[iteration, place])
    if delay is PortDelay.NOTHING:
        return {}
    earlier, uop = divmod(blocker, len(timeline.program.uops))
    return {_DELAYS[delay]: "" if blocker == NONE else f"{loop.text_of(uop)}, iteration {earlier}"}


def _slice(process: int, thread: int, name: str, start: int, end: int, details: Json) -> Json:
    return {
        "name": name, "ph": "X", "ts": start, "dur": end - start, "pid": process, "tid": thread,
        **({"args": details} if details else {}),
    }  # fmt: skip


def _thread(process: int, number: int, name: str) -> Iterator[Json]:
    yield _metadata("thread_name", process, number, name=name)
    yield _metadata("thread_sort_index", process, number, sort_index=number)


def _metadata(kind: str, process: int, thread: int, **details: str | int) -> Json:
    return {"name": kind, "ph": "M", "pid": process, "tid": thread, "args": details}


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
