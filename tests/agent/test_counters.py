"""Counters: the processor's own where there are any, the kernel's everywhere to see that counting works."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence

import pytest

from inference.agent.counters import (
    TASK_CLOCK,
    CountersError,
    KernelGroup,
    ProcessorCounters,
    counting_level,
    distrust_reason,
    events_of,
)
from inference.agent.sandbox import confine

SKYLAKE = ("GenuineIntel", 6, 0x55)


class FakeGroup:
    """Counts what an execution returns; out of order where `failing`."""

    def __init__(self, *names: str, failing: bool = False) -> None:
        self.names = names
        self.failing = failing

    def count(self, execution: Callable[[], object]) -> Sequence[int]:
        if self.failing:
            raise CountersError("in somebody else's hands")
        value = execution()
        assert isinstance(value, int)
        return [value * (place + 1) for place in range(len(self.names))]


def names(vendor: str, family: int, model: int) -> list[str]:
    return [event.name for event in events_of(vendor, family, model)]


@pytest.mark.parametrize(
    ("processor", "expected"),
    [
        (SKYLAKE, ["cycles", "instructions", "uops", *(f"port {port}" for port in range(8))]),
        (
            ("GenuineIntel", 6, 0x2A),
            ["cycles", "instructions", "uops", *(f"port {port}" for port in range(6))],
        ),
        (("GenuineIntel", 6, 0x8F), ["cycles", "instructions", "uops"]),
        (("AuthenticAMD", 25, 1), ["cycles", "instructions", "uops"]),
        (("", 0, 0), ["cycles", "instructions"]),
    ],
)
def test_every_processor_has_its_events(processor, expected):
    assert names(*processor) == expected


def test_no_two_events_of_a_processor_are_the_same():
    events = events_of(*SKYLAKE)
    assert len({(event.kind, event.config) for event in events}) == len(events)


def test_what_a_longer_execution_has_more_of_is_counted_in_every_group():
    counters = ProcessorCounters([FakeGroup("cycles", "instructions"), FakeGroup("uops")])
    assert counters.names == ("cycles", "instructions", "uops")
    assert counters.difference(lambda: 30, lambda: 10) == {"cycles": 20, "instructions": 40, "uops": 20}


def test_counters_in_somebody_else_s_hands_count_nothing():
    assert (
        ProcessorCounters([FakeGroup("cycles"), FakeGroup("uops", failing=True)]).difference(int, int) == {}
    )


@pytest.mark.parametrize(
    ("counted", "word"),
    [
        ({}, ""),
        ({"instructions": 1.01, "uops": 0.99}, ""),
        ({"uops": 1.5}, "uops"),
        ({"instructions": 0}, "instr"),
    ],
)
def test_counters_that_miscount_an_addition_are_not_trusted(counted, word):
    text = distrust_reason(counted)
    assert bool(text) == bool(word)
    assert word in text


def test_a_machine_says_in_a_word_what_it_counts():
    assert counting_level(["cycles", "instructions", "uops", "port 0"]) == "ports"
    assert counting_level(["cycles", "instructions", "uops"]) == "uops"
    assert counting_level(["cycles", "instructions"]) == "instructions"
    assert counting_level([]) == "none"


def count_time(answers) -> None:
    """In a process of its own, confined once its events are open."""
    try:
        group = KernelGroup([TASK_CLOCK])
    except CountersError as error:
        answers.send(str(error))
        return
    confine()
    found = ProcessorCounters([group]).difference(lambda: sum(range(400_000)), lambda: sum(range(1_000)))
    answers.send(found)


def test_a_confined_process_counts_what_it_opened_before():
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=count_time, args=(there,))
    process.start()
    answer = here.recv()
    process.join()
    if isinstance(answer, str):
        pytest.skip(f"nothing can be counted here: {answer}")
    assert answer["nanoseconds"] > 0
