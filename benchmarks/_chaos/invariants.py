"""What must hold of every run, whatever was killed meanwhile; checked from the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks._chaos.outcome import difference, outcome
from benchmarks._chaos.sampling import Sampling
from inference.core.events import ResultStored, StateChanged
from inference.core.judging.contradictions import uops_conflicts
from inference.core.protocols import Json
from inference.formats import journal_events
from inference.models import Measurement, PortMapping, Run, RunEvent, SchemeConflict
from inference.storage.mappings import load_mapping
from inference.storage.results import MAX_COMPARED_RESULTS

LOST, DOUBLED, DIFFERENT, HELD_TWICE, GAP = "lost", "doubled", "different", "held twice", "gap"

PACED = ("cloud",)
"""Pictures of a search, which are drawn as often as its time allows."""

_NEXT = {
    None: {"queued"},
    "queued": {"running", "paused", "cancelled"},
    "running": {"running", "queued", "paused", "done", "failed", "cancelled"},
    "paused": {"queued", "cancelled"},
}
"""Which state of a run may follow which; nothing follows its end. A run is taken over while it is running."""


@dataclass(frozen=True)
class Broken:
    """Something that does not hold: of which run, what sort, and in words; `number` is the run's."""

    run: str
    sort: str
    text: str
    number: int


@dataclass(frozen=True)
class Expected:
    """What came of the same question when nothing was disturbed."""

    outcome: Json
    measured: Mapping[tuple[str, str, int], tuple[str, float | None]]
    told: Counter[tuple[str, int, int]]

    @classmethod
    def of(cls, run: Run) -> Expected:
        """As an undisturbed run has it."""
        return cls(outcome(run), measured(run), told(run))


def check(run: Run, expected: Expected) -> list[Broken]:
    """Everything that does not hold of a run that should have ended."""
    run.refresh_from_db()
    flaws = [*_journal(run), *_ending(run), *_measurements(run, expected), *_result(run, expected)]
    return [Broken(run.name, sort, text, run.pk) for sort, text in flaws]


def check_leases(run: Run, sampling: Sampling) -> list[Broken]:
    """What was seen of a run's leases while it was disturbed."""
    flaws = []
    for (pk, token), workers in sampling.holders.items():
        if pk == run.pk and len(workers) > 1:
            names = " and ".join(sorted(workers))
            flaws.append(Broken(run.name, HELD_TWICE, f"lease {token} was held by {names}", pk))
    if run.pk in sampling.backwards:
        flaws.append(Broken(run.name, HELD_TWICE, sampling.backwards[run.pk], run.pk))
    return flaws


def check_conflicts(run: Run) -> list[Broken]:
    """What other results of its machine contradict, once no run is being stored: all of them, and no more."""
    return [
        Broken(run.name, DIFFERENT, text, run.pk)
        for row in PortMapping.objects.filter(run=run, machine__isnull=False)
        for text in _conflicts(row)
    ]


def _conflicts(row: PortMapping) -> Iterator[str]:
    """What the stored conflicts of a mapping lack or have too much, compared with its neighbours' µops."""
    results = list(PortMapping.objects.filter(machine=row.machine, origin=row.origin).order_by("pk"))
    place = results.index(row)
    neighbours = results[max(0, place - MAX_COMPARED_RESULTS) : place + MAX_COMPARED_RESULTS + 1]
    for other in neighbours:
        stored = SchemeConflict.objects.filter(mapping=row, other=other)
        conflicts, _ = uops_conflicts(load_mapping(row), load_mapping(other))
        right = {(conflict.scheme, conflict.here, conflict.there) for conflict in conflicts}
        if set(stored.values_list("scheme__text", "here", "there")) != right:
            yield f"{row.name} and {other.name} contradict on {len(right)} schemes, not {stored.count()}"


def measured(run: Run) -> dict[tuple[str, str, int], tuple[str, float | None]]:
    """{(purpose of the set, experiment, repetition): (state, cycles)} of what a run measured or imported."""
    rows = Measurement.objects.filter(experiment_set__run=run)
    columns = ("experiment_set__source", "experiment__key", "repeat", "state", "cycles")
    return {
        (source, key, repeat): (state, cycles)
        for source, key, repeat, state, cycles in rows.values_list(*columns)
    }


def told(run: Run) -> Counter[tuple[str, int, int]]:
    """How often the journal tells each step of those that are told once per run."""
    steps: Counter[tuple[str, int, int]] = Counter()
    numbered = {name: kind for name, kind in journal_events.kinds().items() if kind.is_numbered()}
    for name, payload in _events(run).filter(kind__in=numbered).values_list("kind", "payload"):
        event = numbered[name].read(payload)
        steps[*event.series, event.position] += 1
    return steps


def _events(run: Run):  # type: ignore[no-untyped-def]
    return RunEvent.objects.filter(run=run).order_by("seq")


def _journal(run: Run) -> Iterator[tuple[str, str]]:
    """Numbers from 1 without gaps; states that follow each other; a claim for each lease."""
    numbers = list(_events(run).values_list("seq", flat=True))
    if numbers != list(range(1, run.next_seq)):
        missing = sorted(set(range(1, run.next_seq)) - set(numbers))[:5]
        yield GAP, f"its journal has {len(numbers)} events of {run.next_seq - 1}; missing {missing}"
    changes = _events(run).filter(kind=StateChanged.kind).values_list("payload", flat=True)
    states = [StateChanged.read(payload).state for payload in changes]
    for before, after in zip([None, *states], states, strict=False):
        if after not in _NEXT.get(before, set()):
            yield DOUBLED, f"its journal says {after} after {before}"
    if run.state in Run.FINAL and (not states or states[-1] != run.state):
        yield GAP, f"it is {run.state}, and its journal ends with {states[-1:] or 'nothing'}"
    if states.count("running") != run.lease_token:
        yield HELD_TWICE, f"it was leased {run.lease_token} times and claimed {states.count('running')} times"
    twice = [step for step, times in told(run).items() if times > 1]
    if twice:
        yield (
            DOUBLED,
            f"its journal tells {twice[0][0]} {twice[0][2]} more than once, and {len(twice) - 1} others",
        )


def _ending(run: Run) -> Iterator[tuple[str, str]]:
    if run.state != Run.State.DONE:
        yield LOST, f"it is {run.state}, not done{f': {run.error.splitlines()[0]}' if run.error else ''}"
        return
    results = _events(run).filter(kind=ResultStored.kind).count()
    if results != 1:
        yield DOUBLED if results else LOST, f"its journal has {results} results"


def _measurements(run: Run, expected: Expected) -> Iterator[tuple[str, str]]:
    """The same ones, each once."""
    actual = measured(run)
    rows = Measurement.objects.filter(experiment_set__run=run).count()
    if rows != len(actual):
        yield DOUBLED, f"{rows - len(actual)} of its measurements are there more than once"
    if lost := sorted(expected.measured.keys() - actual.keys()):
        yield LOST, f"{len(lost)} of {len(expected.measured)} measurements are missing, such as {lost[0]}"
    if more := sorted(actual.keys() - expected.measured.keys()):
        yield DOUBLED, f"{len(more)} measurements are too many, such as {more[0]}"
    other = [key for key in actual.keys() & expected.measured.keys() if actual[key] != expected.measured[key]]
    if other:
        key = min(other)
        yield (
            DIFFERENT,
            f"{len(other)} measurements differ; {key}: {actual[key]}, not {expected.measured[key]}",
        )


def _result(run: Run, expected: Expected) -> Iterator[tuple[str, str]]:
    """The same result, and a journal with the same steps, but for those that are told when there is time."""
    if run.state != Run.State.DONE:
        return
    if where := difference(expected.outcome, outcome(run)):
        yield DIFFERENT, f"its outcome is another one: {where}"
    right, steps = (
        {step for step in counted if step[0] not in PACED} for counted in (expected.told, told(run))
    )
    if lost := sorted(right - steps):
        yield LOST, f"its journal does not tell {lost[0]}, and {len(lost) - 1} other steps"
    if more := sorted(steps - right):
        yield DIFFERENT, f"its journal tells {more[0]}, and {len(more) - 1} other steps that nobody expects"
