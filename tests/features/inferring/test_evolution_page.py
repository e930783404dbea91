"""The page of an evolution: card, pictures and tables, while it goes on and when it is done; the front."""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client
from django.urls import reverse

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping as Mapping
from inference.features.learning.inferring.job import WORST_SCHEMES
from inference.features.learning.inferring.pmevo_page import CLASSES_PER_PAGE
from inference.features.running.runs import record
from inference.features.running.runs.record import fold, full_record_of, record_of
from inference.measuring.simulated import SimulatedProcessor
from inference.models import ISA, ExperimentSet, PortMapping, Run
from inference.runs import lifecycle
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import load_mapping, store_mapping
from inference.storage.rows import store_measurements
from tests.fronts import SIZE, fronted
from tests.work import work_off

__all__ = ["fronted"]

TRUTH = Mapping(
    ("0", "1", "2"),
    {"a x": ((1, 1),), "a y": ((1, 1),), "b x": ((3, 1),), "c x": ((4, 2),), "d x": ((7, 1),)},
)
QUICK = {"search": "evolution", "population": 30, "max_generations": 3, "threads": 1}


@pytest.fixture
def toy(db: None) -> ISA:
    """An instruction set of five schemes, two of them alike."""
    return new_isa("toy", TRUTH.usage, "a test")


@pytest.fixture
def recorded(toy: ISA) -> ExperimentSet:
    """Experiments of one and of two instructions, all without noise."""
    row = ExperimentSet.objects.create(name="recorded", isa=toy, origin=ExperimentSet.Origin.UPLOAD)
    names = sorted(TRUTH.usage)
    asked = [Experiment.of([name]) for name in names]
    asked += [Experiment.of([one, other]) for one in names for other in names if one < other]
    asked += [Experiment.of({one: 2, other: 1}) for one in names for other in names if one != other]
    store_measurements(row, SimulatedProcessor(TRUTH).measure(asked))
    return row


def done(config: dict, name: str = "found") -> Run:
    """A run that has ended."""
    run = lifecycle.submit("infer", {"ports": 3, "settings": QUICK, **config}, name)
    work_off(run)
    assert run.state == "done", run.error
    return run


@pytest.fixture
def found(fronted: None, recorded: ExperimentSet) -> Run:
    """A finished run with a front, learnt from recorded data."""
    return done({"source": {"datasets": [recorded.pk]}, "held_out": 0.3})


def page(visitor: Client, run: Run, **query: object):
    return visitor.get(reverse("run", args=[run.pk]), query)


def record_in(answer) -> dict:
    """What the page's script starts from."""
    text = answer.content.decode()
    found = re.search(r'<script id="run-record" type="application/json">(.*?)</script>', text, re.DOTALL)
    return json.loads(found.group(1))


def test_the_card_has_the_numbers_of_the_table(visitor: Client, found: Run):
    card = page(visitor, found).context["card"]
    classes = PortMapping.objects.get(run=found).report["congruence_classes"]
    assert card.benchmarking is None, "nothing was measured"
    assert card.inference > 0
    assert (card.schemes, card.classes) == (len(TRUTH.usage), len(classes))
    assert card.congruent == pytest.approx(100 * (1 - len(classes) / len(TRUTH.usage)))
    value = load_mapping(PortMapping.objects.get(run=found))
    assert card.kinds == value.uop_kinds
    assert card.measured == found.result["experiments"]
    assert card.saved == pytest.approx(75)


def test_what_is_kept_in_mind_of_a_finished_run_is_little_and_its_page_stays_the_same(
    visitor: Client, found: Run
):
    whole, kept = full_record_of(found), record_of(found)
    assert len(whole.parts["evolution"].generations) > 1
    assert kept.parts["evolution"].generations == whole.parts["evolution"].generations[-1:]
    assert kept.heat_map == whole.heat_map
    first = page(visitor, found)
    told = record_in(first)
    assert len(told["curve"]["data"][0]["x"]) == len(whole.parts["evolution"].generations)
    assert len(told["frames"]) == len(whole.parts["evolution"].clouds)
    assert told["heat_map"]["figure"]["data"]
    again = page(visitor, found)
    assert record_in(again) == told
    for name in ("card", "shows", "best_error"):
        assert again.context[name] == first.context[name]


def test_a_page_leaves_to_its_socket_what_happened_after_its_row_was_read(recorded: ExperimentSet):
    config = {"ports": 3, "settings": QUICK, "source": {"datasets": [recorded.pk]}, "held_out": 0.3}
    run = lifecycle.submit("infer", config, "quick")
    queued = Run.objects.get(pk=run.pk)
    work_off(run)
    assert (run.state, queued.state) == ("done", "queued")
    assert record_of(queued).seq == queued.next_seq - 1
    assert record_of(run).seq == run.next_seq - 1


def test_of_a_story_too_long_for_a_page_the_end_is_there(found: Run, monkeypatch: pytest.MonkeyPatch):
    whole = full_record_of(found)
    monkeypatch.setattr(record, "REMEMBERED_EVENTS", 0)
    monkeypatch.setattr(record, "JOURNAL_LIMIT", found.next_seq - 1)
    part = full_record_of(found)
    assert part.seq == whole.seq
    assert part.result == whole.result
    assert part.parts["evolution"].last_generation == whole.parts["evolution"].last_generation
    assert len(part.parts["evolution"].generations) < len(whole.parts["evolution"].generations)


def test_what_is_measured_counts_as_benchmarking_without_the_mixes_that_judge(
    visitor: Client, fronted: None, toy: ISA
):
    truth = store_mapping("truth", toy, TRUTH, origin=PortMapping.Origin.EXAMPLE)
    run = done({"source": {"simulate": truth.pk}, "mixes": 10})
    card = page(visitor, run).context["card"]
    assert card.benchmarking is not None
    assert card.benchmarking + card.inference < run.busy_seconds


def test_a_stage_takes_as_long_as_it_was_worked_on_however_long_the_pauses():
    def phase(index: int, at: str, busy: float | None) -> dict:
        told = {"name": f"stage {index}", "index": index, "labels": ["one", "two", "three"]}
        return {"kind": "phase", "at": at, "payload": told if busy is None else {**told, "busy": busy}}

    def state(name: str, at: str) -> dict:
        return {"kind": "state", "at": at, "payload": {"state": name}}

    events = [
        phase(1, "2026-01-01T00:00:00+00:00", 1.0),
        state("paused", "2026-01-01T00:00:10+00:00"),
        state("running", "2026-01-01T05:00:00+00:00"),
        phase(2, "2026-01-01T05:00:05+00:00", 16.0),
        phase(3, "2026-01-01T05:00:07+00:00", 18.0),
    ]
    record = fold({**event, "seq": seq} for seq, event in enumerate(events, start=1))
    assert [each.seconds for each in record.phases] == [15.0, 2.0, None]
    old = fold({**phase(k, f"2026-01-01T00:00:0{k}+00:00", None), "seq": k} for k in (1, 2))
    assert old.phases[0].seconds == 1.0, "journals from before tell by the clock"


def test_the_pictures_have_what_the_journal_told(visitor: Client, found: Run):
    answer = page(visitor, found)
    record = record_in(answer)
    assert [frame["generation"] for frame in record["frames"]][-1] == 10**6
    assert record["frames"][-1] == {"generation": 10**6, "x": [30, 20], "y": [5.0, 20.0]}
    sweeps = answer.context["sweeps_figure"]["data"]
    assert [(trace["name"], trace["x"]) for trace in sweeps[::2]] == [("start 1", [1, 2]), ("start 2", [1])]
    assert sweeps[0]["y"] == pytest.approx([6.0, 5.0])
    assert record["heat_map"]["lengths"]["data"][0]["x"] == [2, 3]
    assert answer.context["shows"] == dict.fromkeys(("curve", "cloud", "sweeps", "lengths", "front"), True)


def test_the_same_is_shown_while_the_run_goes_on(visitor: Client, found: Run):
    PortMapping.objects.filter(run=found).delete()
    Run.objects.filter(pk=found.pk).update(state="queued", result={})
    answer = page(visitor, found)
    assert answer.context["front"].owner is None
    assert len(answer.context["front"].lines) == SIZE
    assert 'action="/fronts/' not in answer.content.decode(), "a point can be picked when the run is done"
    assert answer.context["class_count"] == answer.context["card"].classes
    assert answer.context["worst_schemes"]
    assert answer.context["card"].kinds == 10, "as the best start's last sweep told"


def test_schemes_with_the_largest_errors_lead_to_their_pages_and_experiments(visitor: Client, found: Run):
    lines = page(visitor, found).context["worst_schemes"]
    errors = [line.error.absolute for line in lines]
    assert errors == sorted(errors, reverse=True)
    assert len(lines) <= WORST_SCHEMES
    assert visitor.get(lines[0].scheme_url).status_code == 200
    answer = visitor.get(lines[0].experiments_url)
    scheme, rows = answer.context["pinned"], answer.context["bin_rows"]
    assert scheme.text == lines[0].error.scheme
    assert "<h2>Experiments with " in answer.content.decode()
    assert answer.context["bin_total"] == lines[0].error.n == len(rows)
    assert all(scheme.text in row.stored.value.experiment.schemes for row in rows)
    assert all(f"of={scheme.pk}" in url for _, _, url in answer.context["view_links"])
    differences = [abs(row.difference) for row in rows]
    assert differences == sorted(differences, reverse=True)
    mean = sum(row.difference for row in rows) / len(rows)
    assert mean == pytest.approx(lines[0].error.signed, abs=1e-3)


def test_the_classes_are_searched_by_any_member_and_paged(visitor: Client, toy: ISA, found: Run):
    answer = page(visitor, found, q="y")
    assert [line.representative.text for line in answer.context["class_lines"]] == ["a x"]
    assert [each.text for each in answer.context["class_lines"][0].other_members] == ["a y"]
    assert answer.context["class_lines"][0].other_members[0].compared > 0
    many = [f"z{k:03}" for k in range(3 * CLASSES_PER_PAGE)]
    row = PortMapping.objects.get(run=found)
    row.report |= {"congruence_classes": [[name] for name in many]}
    row.save()
    first, last = page(visitor, found, sort="text"), page(visitor, found, sort="text", page=2)
    assert [line.representative.text for line in first.context["class_lines"]] == many[:CLASSES_PER_PAGE]
    assert [line.representative.text for line in last.context["class_lines"]] == many[-CLASSES_PER_PAGE:]
    assert last.context["page"].next_cursor is None
    assert page(visitor, found, q="memory:sideways").context["classes_error"]


def test_the_classes_are_on_the_mappings_page_too_with_their_uops(visitor: Client, found: Run):
    row = PortMapping.objects.get(run=found)
    answer = visitor.get(reverse("mapping", args=[row.pk]), {"tab": "classes"})
    by_name = {line.representative.text: line for line in answer.context["class_lines"]}
    assert by_name["a x"].uops == load_mapping(row).usage["a x"]
    assert by_name["a x"].size == 2


def test_a_point_of_the_front_is_picked_once_and_opened_afterwards(visitor: Client, found: Run):
    row = PortMapping.objects.get(run=found)
    point = row.front.get(place=2)
    for url, tab in (
        (reverse("run", args=[found.pk]), {}),
        (reverse("mapping", args=[row.pk]), {"tab": "front"}),
    ):
        text = visitor.get(url, tab).content.decode()
        assert text.count('action="/fronts/') == SIZE - 1
        assert "the run’s choice" in text
    first = visitor.post(reverse("front-pick", args=[point.pk]))
    made = PortMapping.objects.exclude(pk=row.pk).get()
    assert made.name == f"found · {point.kinds} kinds of µops"
    assert first.headers["Location"] == reverse("mapping", args=[made.pk])
    assert made.evaluations.get().mape == point.mape
    assert (
        visitor.post(reverse("front-pick", args=[point.pk])).headers["Location"] == first.headers["Location"]
    )
    assert PortMapping.objects.count() == 2
    answer = visitor.get(reverse("mapping", args=[made.pk]), {"tab": "front"})
    assert answer.context["front"].here == 2
    assert "Picked from the front of" in answer.content.decode()
    asked = {"tab": "accuracy", "set": "held-out", "view": "schemes"}
    accuracy = visitor.get(reverse("mapping", args=[made.pk]), asked)
    assert accuracy.context["scheme_count"] == len(TRUTH.usage)


def test_a_point_is_picked_by_a_post_alone(visitor: Client, found: Run):
    point = PortMapping.objects.get(run=found).front.get(place=1)
    assert visitor.get(reverse("front-pick", args=[point.pk])).status_code == 405
    assert visitor.post(reverse("front-pick", args=[999_999])).status_code == 404


def test_a_mapping_without_a_front_has_no_such_tab(visitor: Client, toy: ISA):
    row = store_mapping("plain", toy, TRUTH, origin=PortMapping.Origin.IMPORT)
    assert "tab=front" not in visitor.get(reverse("mapping", args=[row.pk])).content.decode()
    assert visitor.get(reverse("mapping", args=[row.pk]), {"tab": "front"}).status_code == 400


def test_deleting_a_mapping_says_that_its_front_goes_too(visitor: Client, found: Run):
    row = PortMapping.objects.get(run=found)
    text = visitor.get(reverse("mapping-delete", args=[row.pk])).content.decode()
    assert f"{SIZE - 1} points of its front" in text


def test_errors_by_length_are_on_the_accuracy_tab_of_sets_with_several(
    visitor: Client, found: Run, recorded: ExperimentSet
):
    row = PortMapping.objects.get(run=found)
    config = {"mapping": row.pk, "experiment_set": recorded.pk, "unit": "cycles"}
    work_off(lifecycle.submit("evaluate", config, "judge"))
    address = reverse("mapping", args=[row.pk])
    answer = visitor.get(address, {"tab": "accuracy", "set": recorded.pk})
    assert answer.context["lengths"] == [1, 2, 3]
    panels = answer.context["panels"]
    assert [each.title for each in panels] == ["1 instruction", "2 instructions", "3 instructions"]
    assert sum(each.scores.n for each in panels) == recorded.measurements.count()
    assert "By the number of instructions" in answer.content.decode()
    asked = {"tab": "accuracy", "set": recorded.pk, "view": "schemes", "q": "c", "among": "only"}
    assert [row.text for row in visitor.get(address, asked).context["rows"]] == ["c x"]
    assert visitor.get(address, {"tab": "accuracy", "set": recorded.pk, "scheme": 999_999}).status_code == 404


def test_one_press_on_the_page_of_a_set_starts_learning_from_it(visitor: Client, recorded: ExperimentSet):
    text = visitor.get(reverse("set", args=[recorded.pk])).content.decode()
    assert "Infer a mapping from this set" in text
    answer = visitor.post(reverse("set-learn", args=[recorded.pk]))
    run = Run.objects.get()
    assert answer.headers["Location"] == reverse("run", args=[run.pk])
    assert run.config["source"] == {"datasets": [recorded.pk]}
    assert run.config["held_out"] == 0.2
    assert visitor.get(reverse("set-learn", args=[recorded.pk])).status_code == 405
