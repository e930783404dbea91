"""What a core model lacks for a loop, and the button that measures it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from django.http import HttpRequest
from django.urls import reverse

from inference.core.core_model.prediction import SchemeSubstitution
from inference.core.loop.values import InstructionAnalysis, UnknownPart
from inference.features.asking.loop.answer import LoopAnswer
from inference.features.learning.completing.query import (
    completing_runs,
    expected_seconds,
    missing_features,
    obstacle,
    unmeasured,
)
from inference.features.learning.completing.request import MAX_SCHEMES
from inference.models import Run, StoredCoreModel
from inference.storage.rows import ids_of_schemes
from inference.web.contributions import Context

_PART_OF = {"latencies": UnknownPart.LATENCY, "ports": UnknownPart.PORTS}
"""{part of a substitution: the property that it stands for}."""


@dataclass(frozen=True)
class MissingScheme:
    """A scheme of the loop that was not measured, or not completely.

    Attributes:
        substitution: The scheme that stands for it.
        reason: Why it cannot be measured, "" where it can.
    """

    scheme: str
    parts: tuple[UnknownPart, ...]
    substitution: SchemeSubstitution | None
    reason: str = ""


def missing_schemes(answer: LoopAnswer, reasons: dict[str, dict[str, str]]) -> list[MissingScheme]:
    """The schemes that the core model lacks for the loop, each once.

    Args:
        answer: About the loop.
        reasons: Reasons as of `completing.query.unmeasured`.
    """
    by_scheme: dict[str, MissingScheme] = {}
    for instruction in answer.analysis.instructions:
        parts = _missing_parts(instruction)
        if parts and instruction.scheme:
            by_scheme.setdefault(
                instruction.scheme, MissingScheme(instruction.scheme, parts, instruction.substitution)
            )
    machine = answer.cpu.row.machine
    lacking = {} if machine is None else missing_features(machine, by_scheme)
    return [
        replace(missing, reason=lacking.get(text) or _failure(missing, reasons.get(text, {})))
        for text, missing in by_scheme.items()
    ]


def _missing_parts(instruction: InstructionAnalysis) -> tuple[UnknownPart, ...]:
    substituted = () if instruction.substitution is None else instruction.substitution.parts
    parts = [*instruction.unknown, *(_PART_OF[part] for part in substituted if part in _PART_OF)]
    return tuple(dict.fromkeys(parts))


def _failure(missing: MissingScheme, reasons: dict[str, str]) -> str:
    """Why everything that is missing could not be measured, "" where something has not been tried."""
    if not all(part in reasons or part is UnknownPart.SLOTS for part in missing.parts):
        return ""
    return "; ".join(dict.fromkeys(reasons[part] for part in missing.parts if part in reasons))


def missing_context(request: HttpRequest, answer: LoopAnswer) -> Context | None:
    """The context of `inference/loop/missing.html`; None where the loop lacks nothing."""
    del request
    row = answer.cpu.row
    if answer.cpu.is_recorded:
        return None
    runs = completing_runs(row)
    missing = missing_schemes(answer, unmeasured(runs))
    pending = next((run for run in runs if run.state not in Run.FINAL), None)
    if not missing and pending is None:
        return None
    last_error = runs[0].error.partition("\n")[0] if runs and runs[0].state == Run.State.FAILED else ""
    return {**_context(row, missing, pending), "missing_error": last_error}


def _context(row: StoredCoreModel, missing: list[MissingScheme], pending: Run | None) -> Context:
    measurable = [entry.scheme for entry in missing if not entry.reason][:MAX_SCHEMES]
    ids = ids_of_schemes(row.isa_id, measurable)
    reason = obstacle(row) if measurable else ""
    seconds = 0 if row.machine is None else math.ceil(expected_seconds(row, [*ids.values()]))
    return {
        "missing": missing,
        "measurable": [] if reason else sorted(ids.values()),
        "seconds": max(1, seconds),
        "missing_obstacle": reason,
        "core_model": row,
        **({} if pending is None else progress_context(pending)),
    }


def progress_context(run: Run) -> Context:
    """The context of `inference/loop/missing_run.html`: a completion that runs, or has ended."""
    return {
        "missing_run": run,
        "missing_ended": run.state in Run.FINAL,
        "missing_poll_url": f"{reverse('loop-missing')}?run={run.pk}",
    }
