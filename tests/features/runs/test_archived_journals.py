"""What a run's archive tells of its story: every real one is read, and of damaged ones pages can be shown."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Mapping
from inference.core.mapping import uops_of
from inference.core.protocols import Json
from inference.features.running.runs.archive import store_archive
from inference.formats.problems import ExchangeError
from inference.formats.run_archive import EVENTS, RUN
from inference.formats.run_archive_reading import read_archive
from inference.measuring.simulated import SimulatedProcessor
from inference.models import ExperimentSet, PortMapping, Run
from inference.runs.lifecycle import submit
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping
from inference.storage.rows import store_measurements
from inference.storage.run_archive_writing import write_archive
from tests.core.explain.small import ZENLIKE, mapping_of
from tests.drawn import fewer
from tests.fronts import fronted
from tests.runs import agents
from tests.simulated import simulated_machine
from tests.work import work_off
from tests.zips import packed, unpacked

__all__ = ["fronted"]
pytestmark = pytest.mark.django_db

TRIED = fewer(25)
"""Damaged archives of each kind of run, each in another place; there are hundreds."""

TRUTH = Mapping(
    ("0", "1", "2", "3"), {"a x": ((1, 1),), "a y": ((3, 1),), "c x": ((4, 1),), "d x": ((15, 1),)}
)
NAMES = ("add", "sub", "imul", "shl", "rol", "load", "vaddps", "add r, m", "imul r, m")
ZEN = replace(
    ZENLIKE,
    usage={name: ZENLIKE.usage[name] for name in NAMES} | mapping_of("0123456", {"odd": "0 0 12"}).usage,
)
ADD = "add GPR[64]:RW, GPR[64]:R"
SEARCH = {"algorithm": "cegar", "mixes": 10, "held_out": 0.0}


def simulated(truth: Mapping) -> Json:
    isa = new_isa("toy", truth.usage, "a test")
    row = store_mapping("truth", isa, truth, origin=PortMapping.Origin.EXAMPLE)
    return {"simulate": row.pk}


def recorded(*wrong: Measured) -> Json:
    isa = new_isa("toy", TRUTH.usage, "a test")
    row = ExperimentSet.objects.create(name="recorded", isa=isa, origin=ExperimentSet.Origin.UPLOAD)
    names = sorted(TRUTH.usage)
    asked = [Experiment.of([name]) for name in names]
    asked += [
        Experiment.of({one: n, other: 1}) for one in names for other in names if one < other for n in (1, 2)
    ]
    exact = {each.experiment: each for each in SimulatedProcessor(TRUTH).measure(asked)}
    store_measurements(row, (exact | {each.experiment: each for each in wrong}).values())
    return {"datasets": [row.pk]}


def by_counter_examples() -> Run:
    settings = {"most_ports": 4, "epsilon": 0.09}
    return submit("infer", {**SEARCH, "source": simulated(TRUTH), "settings": settings}, "cegar")


def by_contradictions() -> Run:
    source = recorded(Measured(Experiment.of({"a x": 1, "c x": 1}), 7.0))
    return submit("infer", {**SEARCH, "source": source, "settings": {"most_ports": 4}}, "clash")


def by_evolution() -> Run:
    settings = {"search": "evolution", "population": 30, "max_generations": 3, "threads": 1}
    return submit("infer", {"source": recorded(), "ports": 4, "settings": settings, "held_out": 0.3}, "pmevo")


def by_witnesses() -> Run:
    source = {**simulated(ZEN), "counters": "uops"}
    return submit("infer", {"algorithm": "explain", "source": source, "ports": 7, "mixes": 10}, "explain")


def of_blocks() -> Run:
    truth = Mapping(("0", "1"), {ADD: ((3, 1),)})
    machine = simulated_machine(new_isa("x86-64", [ADD], "a test"), truth)
    return submit("block", {"machine": machine.pk, "blocks": ["4801d8", "90"]}, "blocks")


def of_the_model(monkeypatch: pytest.MonkeyPatch) -> Run:
    machine = agents.make_machine()
    agents.put_agent(monkeypatch, noise=0.01)
    documented = replace(agents.TRUTH, usage={**agents.TRUTH.usage, "mul": uops_of([(0b11, 1)])})
    row = store_mapping("documented", machine.isa, documented, origin=PortMapping.Origin.IMPORT)
    asked = {"mixes": 6, "sequences": 3, "permutations": 3}
    return submit(
        "check-model", {"machine": machine.pk, "schemes": "all", "reference": row.pk, **asked}, "model"
    )


STORIES: dict[str, Callable[..., Run]] = {
    "cegar": by_counter_examples,
    "clash": by_contradictions,
    "pmevo": by_evolution,
    "explain": by_witnesses,
    "block": of_blocks,
    "check-model": of_the_model,
}


@pytest.fixture(params=STORIES)
def story(request: pytest.FixtureRequest, fronted: None, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run that has ended, of one kind after another."""
    make = STORIES[request.param]
    return work_off(make(monkeypatch) if make is of_the_model else make())


def pages(visitor: Client, run: Run) -> Iterator[str]:
    """Where something of the story is shown."""
    page = reverse("run", args=[run.pk])
    yield from (page, f"{page}?example=1", f"{page}?stage=alone", f"{page}?class=add", reverse("runs"))
    yield from (reverse("run-heat-map", args=[run.pk]), f"{page}?reason=unmeasured")
    if run.kind == "check-model":
        yield from (reverse(f"run-{table}-csv", args=[run.pk]) for table in ("schemes", "mixes", "orders"))
    for row in PortMapping.objects.filter(run=run):
        mapping = reverse("mapping", args=[row.pk])
        yield from (f"{mapping}?tab={tab.name}" for tab in visitor.get(mapping).context["tabs"])
        for verdict in row.characterisations.all()[:2]:
            yield reverse("scheme-proof", args=[row.pk, verdict.scheme_id])


def shown(visitor: Client, run: Run) -> None:
    for address in pages(visitor, run):
        assert visitor.get(address).status_code == 200, address


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every part of a document, of lists to the first two entries alone."""
    inner = (
        value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    )
    for key, each in inner:
        yield (*path, key)
        yield from places(each, (*path, key))


ODD = (None, -1, 0, 10**6, 1.5, 1e300, True, "odd", "", [], {}, [[]], ["odd", "odd", "odd"])
"""What a part of a document is replaced with; it is also left out."""


def damaged(document: Json, path: tuple[Any, ...], odd: object) -> Json:
    """A copy with a part replaced, or left out for `...`."""
    made = copy.deepcopy(document)
    place = made
    for key in path[:-1]:
        place = place[key]
    if odd is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = odd
    return made


def damages(files: dict[str, bytes], dice: random.Random) -> list[dict[str, bytes]]:
    """The files with damage, each in another place of the manifest or of the last event of a kind."""
    manifest = json.loads(files[RUN])
    events = [json.loads(line) for line in files[EVENTS].splitlines()]
    newest = {event["kind"]: number for number, event in enumerate(events)}.values()
    every = [(None, path) for path in places(manifest)]
    every += [(number, ("payload", *path)) for number in newest for path in places(events[number]["payload"])]
    found = []
    for number, path in dice.sample(every, TRIED):
        odd = dice.choice((..., *ODD))
        if number is None:
            found.append({**files, RUN: json.dumps(damaged(manifest, path, odd)).encode()})
        else:
            told = [
                damaged(each, path, odd) if place == number else each for place, each in enumerate(events)
            ]
            found.append({**files, EVENTS: "\n".join(map(json.dumps, told)).encode()})
    return found


def test_every_event_of_a_real_run_is_as_the_archive_expects_it(story: Run, visitor: Client) -> None:
    made = store_archive(read_archive(write_archive(story)), "run.zip")
    assert made.events.count() == story.events.count() > 3
    shown(visitor, story)
    shown(visitor, made)


def is_accepted(files: dict[str, bytes], visitor: Client) -> bool:
    """Whether the archive is read; then pages of it can be shown."""
    with transaction.atomic():
        try:
            made = store_archive(read_archive(packed(files)), "run.zip")
        except ExchangeError:
            return False
        shown(visitor, made)
        transaction.set_rollback(True)
    return True


def test_what_is_told_of_a_damaged_story_is_refused_or_can_be_shown(story: Run, visitor: Client) -> None:
    files = unpacked(write_archive(story))
    manifest = json.loads(files[RUN])
    for path, is_harmless in ((("run", "note"), True), (("version",), False)):
        changed = {**files, RUN: json.dumps(damaged(manifest, path, "odd")).encode()}
        assert is_accepted(changed, visitor) is is_harmless, path
    for changed in damages(files, random.Random(story.name)):
        is_accepted(changed, visitor)  # how many of so few are, the dice decide


def test_a_picture_may_be_emptied_where_a_newer_one_is_there() -> None:
    files = unpacked(write_archive(work_off(by_evolution())))
    *before, last = (json.loads(line) for line in files[EVENTS].splitlines())
    # A slow run draws several, and what a newer one has replaced is empty already.
    picture = next(event["payload"] for event in before if event["kind"] == "heat_map" and event["payload"])

    def told(*payloads: Json) -> bytes:
        added = [
            {**last, "kind": "heat_map", "seq": last["seq"] + number, "payload": payload}
            for number, payload in enumerate(payloads, start=1)
        ]
        lines = "\n".join(json.dumps(event) for event in (*before, last, *added))
        return packed({**files, EVENTS: lines.encode()})

    assert len(read_archive(told({}, picture)).events) == len(before) + 3
    with pytest.raises(ExchangeError, match="the last 'heat_map' tells nothing"):
        read_archive(told(picture, {}))


@pytest.mark.parametrize(
    ("kind", "payload", "said"),
    [
        ("state", {}, "payload of 'state', state: Field required"),
        ("phase", {"name": "a", "index": "1", "labels": []}, "payload of 'phase', index: .*integer"),
        (
            "decision",
            {"number": 1, "cycles": 1, "state": "settled", "survivor": "both"},
            "survivor: .*'open'",
        ),
        (
            "excluded",
            {"stage": "alone", "schemes": [["a", "bored", ""]]},
            r"schemes\[0\]\[1\]: .*'bored' is none of",
        ),
    ],
)
def test_an_event_is_refused_with_its_line_and_what_would_be_right(
    kind: str, payload: Json, said: str
) -> None:
    files = unpacked(write_archive(work_off(of_blocks())))
    line = {"seq": 1, "kind": kind, "payload": payload, "at": "2026-01-01T00:00:00Z"}
    with pytest.raises(ExchangeError, match=f"events.jsonl, line 1, .*{said}"):
        read_archive(packed({**files, EVENTS: json.dumps(line).encode()}))
