"""A loop's measured time beside its prediction, with a button for a new one, and at two places in a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from pydantic import BaseModel, ConfigDict, Field

from inference.core.protocols import Json
from inference.features.asking.loop.answer import LoopAnswer
from inference.isa.blocks import block_of_hex
from inference.isa.targets import DEFAULT
from inference.measuring.blocks import LOOP, BlockOptions, obstacle
from inference.models import AnswerCache, Machine, Predictor, Run
from inference.models.block_set import block_key
from inference.predictors import machine as measuring
from inference.runs.machines.facts import obstacle_to_measuring
from inference.web.contributions import Context

KIND = "quick-block"
_KINDS = (KIND, "block")
_MAX_RUNS = 200
"""Runs of a machine among which a measurement is looked for: the newest."""

_ALIKE = 0.5
"""Per cent by which a prediction may differ from a measurement and still is called the same."""

_MINUTE = 60  # seconds

POSITIONS = (0, 32)
"""Bytes behind the beginning of a cache line at which a loop is measured to see whether its place matters:
both halves of a line, since cores fetch or decode parts of 32 bytes.
"""
_MATTERS = 2.0
"""Per cent between both from which on the place matters; less is what repeated measurements differ by."""


class MeasuredQuestion(BaseModel):
    """A block in digits, the core model whose machine measures it, and the prediction of its cycles."""

    model_config = ConfigDict(frozen=True)

    isa: str = Field(DEFAULT, max_length=200)
    code: str = Field(max_length=20_000)
    cpu: str = Field(max_length=200)
    mode: Literal["loop", "unrolled"] = "loop"
    predicted: float | None = Field(None, ge=0, le=1e9)

    @property
    def fields(self) -> Json:
        return self.model_dump(exclude_none=True)


@dataclass(frozen=True)
class LoopMeasurement:
    """A machine's measurement of a block, in cycles per iteration.

    `at` and `spread` are None where only the number is stored; `run`: the run's id, None likewise.
    """

    cycles: float
    spread: float | None = None
    at: datetime | None = None
    run: int | None = None

    @property
    def age(self) -> str:
        """`3 s ago`; "" for longer times, which pages write as usual."""
        seconds = (timezone.now() - self.at).total_seconds() if self.at is not None else _MINUTE
        return f"{max(0, round(seconds))} s ago" if seconds < _MINUTE else ""

    def comparison(self, predicted: float | None) -> str:
        """`predicted 2 % below`; "" without a prediction."""
        if predicted is None or not self.cycles:
            return ""
        percent = 100 * (predicted - self.cycles) / self.cycles
        if abs(percent) < _ALIKE:
            return "predicted the same"
        digits = 0 if abs(percent) >= 1 else 1
        return f"predicted {abs(percent):.{digits}f} % {'above' if percent > 0 else 'below'}"


def newest_measurement(code: str, isa: str, mode: str, machine: Machine) -> LoopMeasurement | None:
    """The newest settled measurement of a block, by its digits, on a machine in a mode (two queries)."""
    measurement = _newest_of_runs(code, mode, machine, None)
    if measurement is not None:
        return measurement
    options = {"machine": machine.name}
    rows = Predictor.objects.filter(kind=measuring.KIND, options__in=[options, {**options, "mode": mode}])
    in_mode = [row for row in rows if row.options.get("mode", BlockOptions().mode) == mode]
    answers = AnswerCache.objects.filter(
        predictor__in=in_mode, isa=isa, block=block_key(bytes.fromhex(code)), cycles__isnull=False
    )
    cycles = answers.order_by("-pk").values_list("cycles", flat=True).first()
    return None if cycles is None else LoopMeasurement(cycles)


def _newest_of_runs(code: str, mode: str, machine: Machine, position: int | None) -> LoopMeasurement | None:
    """The newest settled measurement of a block at a position; None: wherever the harness has it."""
    for run in _measuring_runs(machine, mode).filter(state=Run.State.DONE).order_by("-pk")[:_MAX_RUNS]:
        result = _result_of(run, code)
        is_settled = result is not None and result.get("state") == "settled" and result.get("cycles")
        if result is not None and is_settled and run.config.get("offset") == position:
            return LoopMeasurement(result["cycles"], result.get("spread"), run.finished, run.pk)
    return None


def _measuring_runs(machine: Machine, mode: str) -> QuerySet[Run]:
    """Runs that measure blocks with the usual start values."""
    usual = BlockOptions(mode=mode).as_json()
    same_start = {f"config__options__{name}": value for name, value in usual.items() if name != "copies"}
    return Run.objects.filter(kind__in=_KINDS, config__machine=machine.pk, config__values={}, **same_start)


def _result_of(run: Run, code: str) -> Json | None:
    results = zip((run.result or {}).get("blocks", ()), run.config["blocks"], strict=False)
    return next((result for result, digits in results if digits == code), None)


def measured_context(request: HttpRequest, answer: LoopAnswer) -> Context | None:
    """The context of `inference/loop/measured.html`; None where no machine has this CPU."""
    del request
    machine = measuring_machine(answer)
    return None if machine is None else context_of(question_about(answer), machine)


def measuring_machine(answer: LoopAnswer) -> Machine | None:
    """The machine with the CPU of an answer, None where there is none."""
    machine = answer.cpu.row.machine
    is_published = machine is not None and machine.kind == Machine.Kind.PUBLISHED
    return None if answer.cpu.is_recorded or is_published else machine


def question_about(answer: LoopAnswer) -> MeasuredQuestion:
    analysis = answer.analysis
    return MeasuredQuestion(
        isa=answer.block.isa,
        code=answer.block.hex,
        cpu=answer.cpu.name,
        mode=answer.question.mode,
        predicted=round(analysis.usual, 4) if analysis.bounds else None,
    )


def context_of(question: MeasuredQuestion, machine: Machine) -> Context:
    """The same for a block that is not analysed again."""
    run = next((run for run in _pending_runs(question, machine) if run.config.get("offset") is None), None)
    measurement = newest_measurement(question.code, question.isa, question.mode, machine)
    return {
        "measurement": measurement,
        "comparison": "" if measurement is None else measurement.comparison(question.predicted),
        "measuring_run": run,
        "machine": machine,
        "fields": question.fields,
        "poll_url": f"{reverse('loop-measured')}?{urlencode(question.fields)}",
        "mode_words": "in a loop" if question.mode == LOOP else "unrolled",
        "obstacle": _obstacle(question, machine),
        "failure": "" if run is not None or measurement is not None else _last_failure(question, machine),
    }


def _pending_runs(question: MeasuredQuestion, machine: Machine) -> list[Run]:
    """The measurements of the block that have not ended, the newest first."""
    pending = _measuring_runs(machine, question.mode).exclude(state__in=Run.FINAL)
    return [run for run in pending.order_by("-pk") if question.code in run.config["blocks"]]


def alignment_context(question: MeasuredQuestion, machine: Machine) -> Context:
    """The context of `inference/loop/alignment.html`: one copy of the loop at each of `POSITIONS`."""
    placed = [
        (position, _newest_of_runs(question.code, question.mode, machine, position)) for position in POSITIONS
    ]
    runs = [run for run in _pending_runs(question, machine) if run.config.get("offset") is not None]
    reason = _obstacle(question, machine)
    if not reason and machine.kind == Machine.Kind.AGENT and not machine.facts.get("offsets"):
        reason = f"the agent of {machine.name} is too old to place code in a cache line"
    return {
        "placed": placed,
        "placed_verdict": alignment_verdict([measurement for _, measurement in placed]),
        "placed_runs": runs,
        "placed_obstacle": reason,
        "machine": machine,
        "fields": question.fields,
        "placed_poll_url": f"{reverse('loop-alignment')}?{urlencode(question.fields)}",
    }


def alignment_verdict(measurements: Sequence[LoopMeasurement | None]) -> str:
    """Whether the position matters, as a sentence; "" before both were measured."""
    cycles = [measurement.cycles for measurement in measurements if measurement is not None]
    if len(cycles) < len(POSITIONS) or not min(cycles):
        return ""
    percent = 100 * (max(cycles) / min(cycles) - 1)
    if percent < _MATTERS:
        return f"Its place in a cache line does not matter: both times are within {percent:.1f} %."
    best = POSITIONS[cycles.index(min(cycles))]
    where = "at the beginning of a line" if not best else f"{best} bytes behind the beginning of a line"
    return f"It is {percent:.0f} % quicker {where}: align it there."


def _obstacle(question: MeasuredQuestion, machine: Machine) -> str:
    """Why the machine cannot measure the block now, "" where it can."""
    if reason := obstacle_to_measuring(machine):
        return reason
    if machine.kind == Machine.Kind.AGENT and not machine.is_online():
        return f"{machine.name} is offline"
    block = block_of_hex(question.code, question.isa)
    return obstacle(block, BlockOptions(mode=question.mode), None)


def _last_failure(question: MeasuredQuestion, machine: Machine) -> str:
    """Why the newest measurement has no number, "" where there was none."""
    for run in (
        _measuring_runs(machine, question.mode).filter(state__in=Run.FINAL).order_by("-pk")[:_MAX_RUNS]
    ):
        if question.code in run.config["blocks"]:
            result = _result_of(run, question.code) or {}
            return run.error or result.get("note") or result.get("state") or run.get_state_display()
    return ""
