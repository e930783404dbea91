"""The page of a search by counter-examples: candidates as they stood, the verdict, clashes, a reference."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Mapping
from inference.core.sampling import random_mixes
from inference.measuring.simulated import SimulatedProcessor
from inference.models import ISA, ExperimentSet, PortMapping, Run
from inference.runs import lifecycle
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import load_mapping, store_mapping
from inference.storage.rows import store_measurements
from pmweb.accounts.api_tokens import issue
from pmweb.models import Scope
from tests.work import work_off

TRUTH = Mapping(
    ("0", "1", "2", "3"),
    {"a x": ((1, 1),), "a y": ((3, 1),), "c x": ((4, 1),), "d x": ((15, 1),)},
)


@pytest.fixture
def toy(db: None) -> ISA:
    """An instruction set of four schemes."""
    return new_isa("toy", TRUTH.usage, "a test")


def done(source: object, *, epsilon: float = 0.01, clash: str = "leave-unexplained") -> Run:
    """A run that has ended."""
    settings = {"most_ports": 4, "epsilon": epsilon, "on_clash": clash}
    config = {"algorithm": "cegar", "source": source, "settings": settings, "mixes": 10, "held_out": 0.0}
    run = lifecycle.submit("infer", config, lifecycle.unused_name("found"))
    return work_off(run)


@pytest.fixture
def found(toy: ISA) -> Run:
    """A finished search on a simulated processor that leaves something open."""
    truth = store_mapping("truth", toy, TRUTH, origin=PortMapping.Origin.EXAMPLE)
    run = done({"simulate": truth.pk}, epsilon=0.09)
    assert run.state == "done", run.error
    return run


@pytest.fixture
def clashing(toy: ISA) -> Run:
    """A search that recorded data have misled."""
    row = ExperimentSet.objects.create(name="recorded", isa=toy, origin=ExperimentSet.Origin.UPLOAD)
    asked = [Experiment.of([scheme]) for scheme in TRUTH.usage] + random_mixes(sorted(TRUTH.usage), 30, 1)
    exact = {each.experiment: each for each in SimulatedProcessor(TRUTH).measure(asked)}
    wrong = Measured(Experiment.of({"a x": 1, "c x": 1}), 7.0)
    store_measurements(row, (exact | {wrong.experiment: wrong}).values())
    run = done({"datasets": [row.pk]}, clash="stop")
    assert run.state == "failed"
    return run


def page(visitor: Client, run: Run, query: str = "") -> str:
    return visitor.get(reverse("run", args=[run.pk]) + query).content.decode()


def test_a_finished_search_is_explained_on_its_page(visitor: Client, found: Run):
    answer = visitor.get(reverse("run", args=[found.pk]))
    assert answer.context["verdict"].words in answer.content.decode().replace("&#x27;", "'")
    lines = answer.context["lines"]
    assert [line.example.number for line in lines] == list(range(1, found.result["counter_examples"] + 1))
    assert answer.context["shown"] is None, "the result comes first once there is one"
    assert {doubt.scheme for doubt in answer.context["doubts"]} == set(found.result["ambiguous"])
    assert 'id="run-search"' in answer.content.decode()
    assert "data-heat-map" not in answer.content.decode(), "that is what an evolution shows"


def test_while_it_goes_on_the_newest_two_candidates_are_shown(visitor: Client, found: Run):
    PortMapping.objects.filter(run=found).delete()
    last = found.events.filter(kind="candidates").latest("seq")
    found.events.filter(seq__gt=last.seq).delete()
    Run.objects.filter(pk=found.pk).update(state="queued", result={})
    answer = visitor.get(reverse("run", args=[found.pk]))
    shown = answer.context["shown"]
    assert shown.newest
    assert shown.line.example.number == len(answer.context["lines"])
    assert "two mappings fit what is measured so far" in answer.content.decode()
    assert "being measured" in answer.content.decode()


def test_every_counter_example_can_be_opened_with_both_candidates(visitor: Client, found: Run):
    for number in range(1, found.result["counter_examples"] + 1):
        answer = visitor.get(reverse("run", args=[found.pk]), {"example": number})
        shown = answer.context["shown"]
        assert shown.line.example.number == number
        assert any(row.differs for row in shown.first.rows)
        assert f"Counter-example {number}" in answer.content.decode()
        assert "First predicts" in answer.content.decode()


def test_the_experiments_lead_to_their_pages(visitor: Client, found: Run):
    address = re.search(r'href="(/experiments/\?e=[^"]+)"', page(visitor, found)).group(1)
    assert visitor.get(address.replace("&amp;", "&"), follow=True).status_code == 200


def test_the_mappings_page_has_the_evidence_too_and_other_mappings_have_none(visitor: Client, found: Run):
    row = PortMapping.objects.get(run=found)
    answer = visitor.get(reverse("mapping", args=[row.pk]), {"tab": "evidence"})
    assert answer.context["verdict"].words in answer.content.decode()
    assert reverse("run", args=[found.pk]) in answer.content.decode()
    other = PortMapping.objects.exclude(pk=row.pk).get()
    assert "Evidence" not in visitor.get(reverse("mapping", args=[other.pk])).content.decode()
    assert visitor.get(reverse("mapping", args=[other.pk]), {"tab": "evidence"}).status_code == 400


def test_a_reference_stands_beside_the_result_with_the_measurement_that_contradicts_it(
    visitor: Client, found: Run, toy: ISA
):
    """Of imported mappings that describe all of the schemes; ports go by the names of the result."""
    value = load_mapping(PortMapping.objects.get(run=found))
    wrong = {**value.usage, "a y": value.usage["c x"]}
    reference = store_mapping("manual", toy, Mapping(value.ports, wrong), origin=PortMapping.Origin.IMPORT)
    store_mapping("too small", toy, Mapping(("0",), {"a x": ((1, 1),)}), origin=PortMapping.Origin.IMPORT)
    answer = visitor.get(reverse("run", args=[found.pk]))
    assert "too small" not in {row.name for row in answer.context["references"]}
    beside = answer.context["beside"]
    assert beside.row == reference
    assert set(beside.differing) == {"a y"}
    objection = beside.differing["a y"]
    assert abs(objection.reference - objection.measured) > 0.09 * objection.experiment.length
    assert abs(objection.inferred - objection.measured) <= 0.09 * objection.experiment.length
    assert "The measurement that says otherwise" in answer.content.decode()
    assert visitor.get(reverse("run", args=[found.pk]), {"with": 0}).context["beside"] is None
    assert visitor.get(reverse("run", args=[found.pk]), {"with": 999_999}).status_code == 404


def test_a_clash_offers_to_drop_a_scheme_and_go_on(visitor: Client, clashing: Run):
    text = page(visitor, clashing)
    assert text.index("Failed in “") < text.index("These measurements contradict one another")
    assert "Drop this scheme" in text
    assert "Drop all 2 of a" in text
    answer = visitor.post(reverse("run-without", args=[clashing.pk]), {"scheme": "a x", "what": "scheme"})
    again = Run.objects.exclude(pk=clashing.pk).get()
    assert answer.headers["Location"] == reverse("run", args=[again.pk])
    assert again.forked_from == clashing
    texts = set(
        ISA.objects.get().schemes.filter(pk__in=again.config["schemes"]).values_list("text", flat=True)
    )
    assert texts == set(TRUTH.usage) - {"a x"}
    work_off(again)
    assert again.state == "done", again.error


def test_all_of_a_mnemonic_or_whatever_clashes_can_be_dropped(visitor: Client, clashing: Run):
    visitor.post(reverse("run-without", args=[clashing.pk]), {"scheme": "a x", "what": "mnemonic"})
    visitor.post(reverse("run-without", args=[clashing.pk]), {"scheme": "a x", "what": "always"})
    fewer, always = Run.objects.exclude(pk=clashing.pk).order_by("pk")
    assert len(fewer.config["schemes"]) == 2
    assert always.config["settings"]["on_clash"] == "drop-scheme"
    assert always.config["schemes"] == clashing.config["schemes"]


def test_programs_read_of_a_clash_and_go_on_as_people_do(
    client: Client, administrator: User, clashing: Run
) -> None:
    token = issue(administrator, "a test", Scope.OPERATE, None)[1]
    headers = {"Authorization": f"Bearer {token}"}
    path = f"/api/v1/runs/{clashing.pk}"
    clash = client.get(f"{path}/clash", headers=headers).json()
    assert clash["text"]
    assert {"scheme": "a x", "mnemonic": "a", "alike": 2} in clash["schemes"]
    for body, status in (({"scheme": "nothing"}, 422), ({"scheme": "a x", "what": "mnemonic"}, 201)):
        answer = client.post(f"{path}/without", body, content_type="application/json", headers=headers)
        assert answer.status_code == status, answer.content
    again = Run.objects.exclude(pk=clashing.pk).get()
    assert (again.forked_from, len(again.config["schemes"])) == (clashing, 2)


def test_only_what_clashes_can_be_dropped(visitor: Client, clashing: Run, found: Run):
    for run, scheme in ((clashing, "nothing"), (found, "a x")):
        answer = visitor.post(reverse("run-without", args=[run.pk]), {"scheme": scheme}, follow=True)
        assert "The run was not started" in answer.content.decode()
    assert visitor.get(reverse("run-without", args=[clashing.pk])).status_code == 405
    assert Run.objects.count() == 2
