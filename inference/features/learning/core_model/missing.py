"""What a core model lacks, and the runs that measure it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from inference.core.explain import REASONS, NotCharacterised
from inference.core.protocols import Json
from inference.core.texts import count_of
from inference.features.learning.completing.query import (
    completing_runs,
    obstacle,
    unmeasured,
)
from inference.features.learning.completing.request import KIND as COMPLETE
from inference.features.learning.completing.request import MAX_SCHEMES
from inference.features.learning.core_model.query import CoreModelContents
from inference.models import (
    Characterisation,
    InstructionScheme,
    LatencySet,
    Machine,
    MeasuredFrontEnd,
    PortUsage,
    Run,
    StoredCoreModel,
)
from inference.runs.estimates import estimate
from inference.runs.machines.facts import executable_schemes
from inference.storage.core_models import core_model_of


@dataclass(frozen=True)
class MissingPart:
    """What a core model lacks, with the button that measures it.

    Args:
        part: Value of the form's field; "" where nothing can be started here.
        text: What is missing, and what follows from that.
        button: Text of the button.
        seconds: Estimate of its run; None where nothing is known of such runs.
        reasons: (number of schemes, why they were not found) where earlier runs tried.
        lacking: Number of schemes without ports.
    """

    part: str
    text: str
    button: str = ""
    seconds: float | None = None
    reasons: tuple[tuple[int, str], ...] = ()
    lacking: int = 0


@dataclass(frozen=True)
class MissingParts:
    """What a core model lacks.

    Args:
        parts: Each with what follows from it.
        obstacle: Why nothing can be measured now, "" where it can.
        pending: An unfinished completion.
        recorded: What a recording says is missing, "" for nothing and for models of this site.
    """

    parts: tuple[MissingPart, ...]
    obstacle: str
    pending: Run | None
    recorded: str = ""


PORTS, FRONT_END, LATENCIES, SCHEDULER, SCHEMES = "ports", "front-end", "latencies", "scheduler", "schemes"
MEASURABLE_PARTS = (FRONT_END, LATENCIES, SCHEDULER, SCHEMES)
_MISSING = {
    PORTS: "Ports and slots: blocks have no bound by ports, and kinds of instructions are not known.",
    LATENCIES: "Latencies and memory: each dependence counts as one cycle.",
    FRONT_END: "Front end: its limits on loops and straight code are not known.",
}
_BUTTONS = {LATENCIES: "Measure latencies of the starter set", FRONT_END: "Measure the front end"}


def missing_of(row: StoredCoreModel, contents: CoreModelContents, lacks: str = "") -> MissingParts:
    """What a core model lacks. `lacks`: what its recording says."""
    there = {
        PORTS: contents.described,
        LATENCIES: contents.with_latencies,
        FRONT_END: contents.has_front_end,
    }
    lacking = [part for part in _MISSING if not there[part]]
    if row.machine is None:
        parts = [MissingPart("", f"{lacks[0].upper()}{lacks[1:]}.")] if lacks else []
        parts += [MissingPart("", _MISSING[part]) for part in lacking]
        return MissingParts(tuple(parts), "", None, lacks)
    runs = completing_runs(row)
    pending = next((run for run in runs if run.state not in Run.FINAL), None)
    return MissingParts(tuple(_parts(row, row.machine, lacking, runs)), obstacle(row), pending)


def _parts(
    row: StoredCoreModel, machine: Machine, lacking: Sequence[str], runs: Sequence[Run]
) -> Iterator[MissingPart]:
    for part in lacking:
        stored = newest_part(machine, part)
        if stored is not None:
            yield MissingPart(part, _MISSING[part], f"Take {stored.name}")
        elif part in _BUTTONS:
            yield MissingPart(part, _MISSING[part], _BUTTONS[part], _seconds(row, part))
        else:
            yield MissingPart("", _MISSING[part])
    if row.mapping_id is not None and row.scheduler is None and not core_model_of(row, ()).issues_in_order:
        text = "Scheduler: it has not been looked for."
        yield MissingPart(SCHEDULER, text, "Look for the scheduler", _seconds(row, SCHEDULER))
    if row.mapping_id is not None and (part_of_schemes := _missing_schemes(row, machine, runs)):
        yield part_of_schemes


def newest_part(machine: Machine, part: str) -> LatencySet | MeasuredFrontEnd | None:
    """The newest result of the machine that could be this part of a core model."""
    if part == LATENCIES:
        return LatencySet.objects.filter(machine=machine).defer("readings").order_by("-pk").first()
    if part == FRONT_END:
        return MeasuredFrontEnd.objects.filter(machine=machine).order_by("-pk").first()
    return None


def _seconds(row: StoredCoreModel, part: str) -> float | None:
    """The likely duration of the run that measures a part; None where nothing is known of such runs."""
    kind, config = start_config(row, part)
    time = estimate(kind, {"machine": row.machine_id, "isa": row.isa.name, **config}).time
    return None if time.total is None else time.total.likely


def _missing_schemes(row: StoredCoreModel, machine: Machine, runs: Sequence[Run]) -> MissingPart | None:
    """The schemes of the default set, as far as the machine has them, without ports."""
    schemes = executable_schemes(machine).filter(exclusion="")
    lacking = _without_ports(row, schemes).count()
    if not lacking:
        return None
    assert row.mapping is not None, "the caller has looked"
    verdicts = row.mapping.characterisations.exclude(reason="").exclude(scheme__usages__mapping=row.mapping)
    by_reason = verdicts.order_by().values_list("reason").annotate(n=Count("pk")).order_by("-n")
    reasons = tuple((number, REASONS[NotCharacterised(reason)]) for reason, number in by_reason)
    text = f"Ports of {lacking:,} of {count_of(schemes.count(), 'scheme')} of the default set are not known."
    number = len(next_schemes(row, machine, runs))
    if not number:
        return MissingPart("", text, reasons=reasons, lacking=lacking)
    button = f"Measure the next {number}" if number < lacking else f"Measure all {number}"
    return MissingPart(SCHEMES, text, button, _seconds(row, SCHEMES), reasons, lacking)


def _without_ports(row: StoredCoreModel, schemes: QuerySet[InstructionScheme]) -> QuerySet[InstructionScheme]:
    described = PortUsage.objects.filter(mapping=row.mapping_id).values("scheme")
    return schemes.exclude(pk__in=described)


def next_schemes(row: StoredCoreModel, machine: Machine, runs: Sequence[Run]) -> list[int]:
    """The ids of the schemes that a completion measures next: those that no run has tried, the starter set
    first.
    """
    schemes = _without_ports(row, executable_schemes(machine).filter(exclusion=""))
    tried = Characterisation.objects.filter(mapping=row.mapping_id).values("scheme")
    untried = schemes.exclude(pk__in=tried).exclude(text__in=unmeasured(runs).keys())
    return list(untried.order_by("-starter", "pk").values_list("pk", flat=True)[:MAX_SCHEMES])


def start_config(row: StoredCoreModel, part: str) -> tuple[str, Json]:
    """(kind, description) of the run that measures a missing part of a core model with a machine."""
    assert row.machine is not None, "the caller has looked"
    if part == SCHEMES:
        ids = next_schemes(row, row.machine, completing_runs(row))
        return COMPLETE, {"core_model": row.pk, "schemes": ids}
    config: Json = {"machine": row.machine_id}
    if part == SCHEDULER:
        config["core_model"] = row.pk
    if part == LATENCIES:
        config["schemes"] = "starter"
    return part, config
