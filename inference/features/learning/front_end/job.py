"""Runs of kind `front-end`: code of our own is timed on a machine, and the front end read off."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from inference.core.events import Event, Log, PhaseStarted, Progress, ResultStored
from inference.core.pacing import PacedReporter
from inference.core.protocols import Json
from inference.isa.blocks.front_end import front_end_codes
from inference.isa.front_end import FrontEndCode
from inference.isa.timed_code import CodeReading, CodeTimer, TimedCode
from inference.measuring.simulated_front_end import SimulatedFrontEnd
from inference.models import Machine, MeasuredFrontEnd, Run
from inference.runs.errors import JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.machines.blocks import timing_codes
from inference.runs.machines.facts import read_block_machine
from inference.runs.request import RunRequest, needed_row
from inference.storage.core_models import store_front_end
from inference.storage.names import free_name

_STAGE = "Time code"
Readings = Sequence[tuple[FrontEndCode, CodeReading]]


class FrontEndConfig(RunRequest):
    """`machine`: id. `isa` is that of the machine."""

    noun = "a run over a front end"
    machine: int
    isa: str = ""


def read_config(given: Json) -> FrontEndConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = FrontEndConfig.read(given)
    machine = read_block_machine(config.machine)
    return config.model_copy(update={"isa": machine.isa.name})


class FrontEndJob(Job):
    """See `FrontEndConfig`. What was timed before an interruption is not timed again."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def work(self, task: Task) -> Store:
        """Time all codes, and keep what they took."""
        config = FrontEndConfig.stored(task.run.config)
        machine = needed_row(Machine.objects.select_related("isa"), config.machine)
        task.reporter.emit(PhaseStarted(_STAGE, 1, [_STAGE]))
        if machine.is_simulated:
            readings = _timed(task, front_end_codes(machine.isa.name, offsets=True), _simulated(machine))
            return partial(_store, task.run, machine, readings, {"simulated": machine.name})
        offsets = bool(machine.facts.get("offsets"))
        if not offsets:
            text = f"the agent of {machine.name} is too old for loops that begin anywhere in a cache line"
            task.reporter.emit(Log("warning", text))
        with timing_codes(task, machine) as (identity, timer):
            readings = _timed(task, front_end_codes(machine.isa.name, offsets=offsets), timer)
        return partial(_store, task.run, machine, readings, identity)


def _timed(task: Task, codes: Sequence[FrontEndCode], timer: CodeTimer) -> Readings:
    """Every code with its reading, in their order."""
    reporter = PacedReporter(task.reporter)
    began = reporter.clock()
    found: dict[TimedCode, CodeReading] = {}
    for reading in timer.time([asked.code for asked in codes]):
        found[reading.code] = reading
        reporter.pulse()
        if reporter.due("codes") or len(found) == len(codes):
            rate = len(found) / max(reporter.clock() - began, 1e-3)
            left = len(codes) - len(found)
            reporter.emit(Progress("front end", len(found), len(codes), round(rate, 1), "codes", left / rate))
    if not any(reading.cycles is not None for reading in found.values()):
        note = next((reading.note for reading in found.values()), "the machine gave no result")
        raise JobError(f"no code of {len(codes)} has settled: {note}")
    return [(asked, found[asked.code]) for asked in codes]


def _simulated(machine: Machine) -> SimulatedFrontEnd:
    """A front end that follows from the machine's seed, with its noise: no port mapping has one."""
    return SimulatedFrontEnd.drawn(int(machine.facts.get("seed", 0)), machine.facts.get("noise", 0.0))


def _store(run: Run, machine: Machine, readings: Readings, identity: Json) -> tuple[Json, Sequence[Event]]:
    made = store_front_end(free_name(MeasuredFrontEnd, run.name), machine, readings, identity, run=run)
    settled = sum(reading.cycles is not None for _, reading in readings)
    result: Json = {
        "front_end": made.pk,
        "name": made.name,
        "url": f"/front-ends/{made.pk}/",  # not looked up: a fault in a page must not cost a result
        "codes": len(readings),
        "settled": settled,
    }
    text = f"{len(readings)} codes timed, {settled} of them settled"
    return result, [Log("info", text), ResultStored(result)]
