"""A core's scheduler as sentences and views, for pages, API and shell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inference.core.protocols import Json
from inference.core.simulation.program import Binding
from inference.formats.scheduler_json import (
    DependentBlockPart,
    ScheduledExperimentPart,
    SchedulerPart,
    SchedulerRecord,
)
from inference.isa.blocks import block_of_hex
from inference.models import StoredCoreModel

_BINDINGS = {
    Binding.LEAST_LOADED: "A dispatched µop is bound to a port: to the one at which the fewest wait",
    Binding.ROUND_ROBIN: "A dispatched µop is bound to a port, to each in turn",
    Binding.RANDOM: "A dispatched µop is bound to a port at random",
    Binding.EVEN: "A dispatched µop is bound to a port: to the one that has been given the fewest",
    Binding.AT_ISSUE: "The oldest µops that are ready take whichever of their ports are free",
}
_LISTED = 12
"""Number of experiments on a page."""
_UNJUDGED = "It was not judged on code with dependences"
CAVEAT = "A good fit is no evidence for the mechanism: only the mechanisms of the simulation were tested."


def record_of(row: StoredCoreModel) -> SchedulerRecord | None:
    """The inferred scheduler; None if none was inferred or the model has no ports any more."""
    has_ports = row.mapping_id is not None or row.document is not None
    return SchedulerRecord.model_validate(row.scheduler) if row.scheduler and has_ports else None


def policy_sentences(scheduler: SchedulerPart) -> list[str]:
    return list(_sentences(scheduler))


def _sentences(scheduler: SchedulerPart) -> Iterator[str]:
    binding = _BINDINGS[scheduler.binding]
    if scheduler.binding is Binding.LEAST_LOADED:
        details = []
        if scheduler.load_age:
            cycles = "a cycle" if scheduler.load_age == 1 else f"{scheduler.load_age} cycles"
            details.append(f"as it was {cycles} ago")
        if scheduler.load_step > 1:
            details.append(f"compared in steps of {scheduler.load_step}")
        binding = ", ".join([binding, *details])
    yield f"{binding}."
    yield f"{scheduler.width} slots are dispatched per cycle."
    yield f"Up to {scheduler.queue} µops wait at a port, {scheduler.queued} in all."
    if scheduler.writeback_conflicts:
        yield "Results of two latencies that would return on one port in one cycle cost an issue slot."
    if scheduler.speculative_select:
        yield "A µop asks for its port as its one-cycle producer does for its own, and in vain if that waits."
    for bus in scheduler.shared_buses:
        ports, buses = ", ".join(bus.ports), ", ".join(bus.buses)
        yield f"Longer results of ports {ports} return on the buses of ports {buses}, one of them in turn."


def code_sentence(record: SchedulerRecord) -> str:
    """The scheduler's accuracy on code with dependencies; "" without such code or a scheduler."""
    if record.scheduler is None or record.error is None:
        return ""
    if record.code is None:
        return f"{_UNJUDGED}: {record.unjudged}." if record.unjudged else f"{_UNJUDGED}."
    code, number = record.code, sum(block.judges for block in record.blocks)
    return (
        f"{number} blocks with dependences that had no part in its choice are {code.error:.1%} off with it, "
        f"{code.error_without:.1%} without; {code.overstated:.0%} of them are predicted too slow, "
        f"{code.overstated_without:.0%} without."
    )


def summary(record: Json) -> str:
    if record["scheduler"] is None:
        return f"no scheduler: {record['reason']}"
    if record["error"] is None or record["error_without"] is None:
        return "a scheduler, without the experiments that it was inferred from"
    alternatives = len(record["alternatives"])
    fits = f"; {alternatives} others fit as well" if alternatives else ""
    return (
        f"experiments that had no part in its choice are {record['error']:.1%} off with the scheduler, "
        f"{record['error_without']:.1%} without{fits}"
    )


@dataclass(frozen=True)
class SchedulerView:
    """A record prepared for the core model's page.

    Attributes:
        open_parameters: Properties in which equally good policies differ.
        clearest: Experiments whose measured time differs most from the model without a scheduler.
        code: Accuracy on code with dependencies.
        blocks: The blocks of it that the policy changes most.
    """

    record: SchedulerRecord
    summary: str
    words: tuple[str, ...]
    open_parameters: tuple[str, ...]
    clearest: tuple[ScheduledExperimentPart, ...]
    code: str
    blocks: tuple[ListedBlock, ...]


@dataclass(frozen=True)
class ListedBlock:
    part: DependentBlockPart
    text: str


def scheduler_view(row: StoredCoreModel) -> SchedulerView | None:
    """The view of a core model's scheduler; None if none was inferred."""
    record = record_of(row)
    if record is None:
        return None
    clearest = sorted(record.experiments, key=lambda part: -abs(part.without / part.measured - 1))[:_LISTED]
    return SchedulerView(
        record,
        summary(record.model_dump(mode="json")),
        () if record.scheduler is None else tuple(policy_sentences(record.scheduler)),
        tuple(open_parameters(record)),
        tuple(clearest),
        code_sentence(record),
        tuple(
            ListedBlock(part, "; ".join(block_of_hex(part.block, row.isa.name).text.splitlines()))
            for part in _changed_blocks(record)
        ),
    )


def _changed_blocks(record: SchedulerRecord) -> list[DependentBlockPart]:
    changes = ((abs((part.simulated or part.without) / part.without - 1), part) for part in record.blocks)
    return [part for _, part in sorted(changes, key=lambda change: -change[0])[:_LISTED]]


def open_parameters(record: SchedulerRecord) -> Iterator[str]:
    """Per parameter, the values of equally good policies: "queue: 4, 6 or 8"."""
    if record.scheduler is None:
        return
    policies = [
        p.model_dump(mode="json") for p in (record.scheduler, *(a.scheduler for a in record.alternatives))
    ]
    for name, best in policies[0].items():
        values = [best]
        values += [policy[name] for policy in policies if policy[name] not in values]
        distinct = list(dict.fromkeys(_value_text(value) for value in values))
        if len(distinct) > 1:
            yield f"{name.replace('_', ' ')}: {', '.join(distinct[:-1])} or {distinct[-1]}"


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "some" if value else "none"
    return str(value)


def scheduler_answer(row: StoredCoreModel) -> Json:
    """The API's answer: the record with the policy as sentences; `scheduler` is null without one."""
    record = record_of(row)
    if record is None:
        record = SchedulerRecord(reason="it was not inferred")
    words = []
    if record.scheduler is not None:
        words = [*policy_sentences(record.scheduler), *filter(None, [code_sentence(record)]), CAVEAT]
    return {"core_model": row.name, "words": words, **record.model_dump(mode="json")}
