"""Runs of kind `front-end`: code of our own is timed on a machine, and the front end read off."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from inference.core.events import Event, Log, PhaseStarted, Progress, ResultStored
from inference.core.pacing import PacedReporter
from inference.core.protocols import Json
from inference.isa.bodies import front_end_maker, obstacle_to_blocks
from inference.isa.front_end import CodeReading, CodeTimer, FrontEndCode, TimedCode
from inference.measuring.simulated_front_end import SimulatedFrontEnd
from inference.models import Machine, MeasuredFrontEnd, Run
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.machines.blocks import open_code_timer
from inference.runs.machines.facts import read_block_machine
from inference.runs.request import RunRequest, needed_row
from inference.storage.core_models import store_front_end
from inference.storage.names import free_name, processor_name, result_name

_STAGE = "Time code"
Readings = Sequence[tuple[FrontEndCode, CodeReading]]


class FrontEndConfig(RunRequest):
    """Configuration of a measurement of a front end. `machine`: id. `isa` is the machine's."""

    noun = "a run over a front end"
    machine: int
    isa: str = ""


def read_config(config_json: Json) -> FrontEndConfig:
    """Validates and completes a configuration. Raises `ConfigError` naming the field."""
    config = FrontEndConfig.read(config_json)
    machine = read_block_machine(config.machine)
    if reason := obstacle_to_blocks(machine.name, machine.isa.name):
        raise ConfigError(reason)
    return config.model_copy(update={"isa": machine.isa.name})


class FrontEndJob(Job):
    """See `FrontEndConfig`. Codes timed before an interruption are not timed again."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def default_name(self, config: Json) -> str:
        return result_name(processor_name(config["machine"]), "front end")

    def work(self, task: Task) -> Store:
        config = FrontEndConfig.from_stored(task.run.config)
        machine = needed_row(Machine.objects.select_related("isa"), config.machine)
        task.reporter.emit(PhaseStarted(_STAGE, 1, [_STAGE]))
        maker = front_end_maker(machine.isa.name)
        if not machine.executes_code:
            readings = _time_codes(task, maker.front_end_codes(offsets=True), _simulated_front_end(machine))
            return partial(_store, task.run, machine, readings, {"simulated": machine.name})
        offsets = bool(machine.facts.get("offsets"))
        if not offsets:
            text = f"the agent of {machine.name} is too old for loops that begin anywhere in a cache line"
            task.reporter.emit(Log("warning", text))
        with open_code_timer(task, machine) as (identity, timer):
            readings = _time_codes(task, maker.front_end_codes(offsets=offsets), timer)
        return partial(_store, task.run, machine, readings, identity)


def _time_codes(task: Task, codes: Sequence[FrontEndCode], timer: CodeTimer) -> Readings:
    """The codes with their readings, in order."""
    reporter = PacedReporter(task.reporter)
    start = reporter.clock()
    timed: dict[TimedCode, CodeReading] = {}
    for reading in timer.time([code.code for code in codes]):
        timed[reading.code] = reading
        reporter.pulse()
        if reporter.due("codes") or len(timed) == len(codes):
            rate = len(timed) / max(reporter.clock() - start, 1e-3)
            n_remaining = len(codes) - len(timed)
            reporter.emit(
                Progress(_STAGE, len(timed), len(codes), round(rate, 1), "codes", n_remaining / rate)
            )
    if not any(reading.cycles is not None for reading in timed.values()):
        note = next((reading.note for reading in timed.values()), "the machine gave no result")
        raise JobError(f"no code of {len(codes)} has settled: {note}")
    return [(code, timed[code.code]) for code in codes]


def _simulated_front_end(machine: Machine) -> SimulatedFrontEnd:
    """A simulated front end from the machine's seed, with its noise: port mappings have none."""
    seed, noise = int(machine.facts.get("seed", 0)), machine.facts.get("noise", 0.0)
    return SimulatedFrontEnd.sampled(seed, noise, machine.isa.name)


def _store(run: Run, machine: Machine, readings: Readings, identity: Json) -> tuple[Json, Sequence[Event]]:
    row = store_front_end(free_name(MeasuredFrontEnd, run.name), machine, readings, identity, run=run)
    settled = sum(reading.cycles is not None for _, reading in readings)
    result: Json = {
        "front_end": row.pk,
        "name": row.name,
        "url": f"/front-ends/{row.pk}/",  # no reverse(): an error in the pages must not lose the result
        "codes": len(readings),
        "settled": settled,
    }
    text = f"{len(readings)} codes timed, {settled} of them settled"
    return result, [Log("info", text), ResultStored(result)]


JOBS = {"front-end": FrontEndJob}
