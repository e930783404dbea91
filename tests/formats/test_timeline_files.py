"""Timelines as files: Chrome's trace, and text with llvm-mca's signs."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.loop.timeline import LoopTimeline
from inference.core.simulation.program import SchedulerPolicy, SimulatedProgram
from inference.core.simulation.timeline import timeline_of
from inference.formats.provenance import PRODUCT
from inference.formats.timeline_files import write_timeline_text, write_timeline_trace
from tests.core.simulation.test_scheduler import POLICIES, programs
from tests.drawn import examples
from tests.timelines import mixed_loop

GOLDEN = Path(__file__).parent / "golden_exports"


def loop_of(program: SimulatedProgram, policy: SchedulerPolicy, iterations: int) -> LoopTimeline:
    texts = tuple(f"instruction {k}" for k in range(len(program.uops)))
    ports = tuple(f"P{k}" for k in range(program.ports))
    return LoopTimeline("drawn", timeline_of(program, policy, iterations), texts, ports, {})


def events_of(loop: LoopTimeline) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads(write_timeline_trace(loop))["traceEvents"]
    return events


@pytest.mark.parametrize(
    ("name", "write"), [("timeline.trace.json", write_timeline_trace), ("timeline.txt", write_timeline_text)]
)
def test_a_file_is_as_it_was(name: str, write: Any) -> None:
    text = write(mixed_loop()).replace(PRODUCT, "pmweb")
    assert text == (GOLDEN / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@examples(10)
@given(program=programs(), iterations=st.integers(1, 20))
def test_slices_of_a_thread_nest_and_arrows_start_and_end_on_them(
    policy: SchedulerPolicy, program: SimulatedProgram, iterations: int
) -> None:
    """Viewers draw a slice that overlaps another one only in part wrongly, and drop arrows from nowhere."""
    loop = loop_of(program, policy, iterations)
    events = events_of(loop)
    threads: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    assert len({thread for _, thread in named} | {1, 2}) == len(named) + 2, "no number occurs twice"
    for event in events:
        if event["ph"] == "X":
            assert event["dur"] > 0
            threads[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    assert threads.keys() <= named
    for slices in threads.values():
        open_ends: list[int] = []
        for start, end in sorted(slices, key=lambda row: (row[0], -row[1])):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1]
            open_ends.append(end)
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert starts.keys() == ends.keys()
    assert len(ends) == sum(event["ph"] == "f" for event in events)
    for key, arrow in starts.items():
        assert arrow["ts"] <= ends[key]["ts"]
        for side in (arrow, ends[key]):
            slices = threads[side["pid"], side["tid"]]
            assert any(since <= side["ts"] < until for since, until in slices)
    ported = sum(uop.ports != 0 for uop in program.uops) * iterations
    assert sum(event["ph"] == "X" and event["pid"] == 1 for event in events) == ported


@examples(30)
@given(program=programs(), iterations=st.integers(1, 20))
def test_each_line_of_the_text_shows_the_life_of_an_instruction(
    program: SimulatedProgram, iterations: int
) -> None:
    loop = loop_of(program, SchedulerPolicy(), iterations)
    lines = [line for line in write_timeline_text(loop).splitlines() if line.startswith("[")]
    assert len(lines) == iterations * len(loop.uops)
    for line in lines:
        cells = line[10 : 10 + loop.timeline.span]
        life = cells.strip(" .")
        assert life.startswith("D")
        assert life.endswith("R")
        assert life.strip("DR=eE-") == ""


def test_texts_of_instructions_stay_texts() -> None:
    loop = replace(mixed_loop(), title='a "b"\n<c>', instructions=('"', "\\", "a\nb", "\u202e", "</script>"))
    names = {event["name"] for event in events_of(loop)}
    assert {'"', "\\", "</script>"} <= names
    assert json.loads(write_timeline_trace(loop))["otherData"]["title"] == 'a "b"\n<c>'
    assert all(line.isprintable() for line in write_timeline_text(loop).splitlines())
