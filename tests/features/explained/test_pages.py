"""The Explained tab and the proof of a scheme: what they say, link and let one measure again."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from inference.models import Machine, PortMapping, Run
from inference.storage.mappings import store_mapping
from tests.explained import (
    ADD,
    ADD_LOAD,
    BSF,
    CMOV,
    DIV,
    IMUL,
    IMUL_LOAD,
    LOAD,
    PORTS,
    TRUTH,
    VERDICTS,
    explained_mapping,
    toy_isa,
)
from tests.simulated import simulated_machine

pytestmark = pytest.mark.django_db


@pytest.fixture
def isa(db):
    return toy_isa()


@pytest.fixture
def row(isa):
    return explained_mapping(isa)


@pytest.fixture
def machine(isa):
    return simulated_machine(isa, TRUTH)


def text_of(response) -> str:
    """What a reader sees, in one line."""
    body = response.content.decode()
    plain = re.sub(r"<[^>]+>", " ", body)
    return " ".join(plain.replace("&#x27;", "'").split())


def proof(visitor, row, scheme) -> str:
    response = visitor.get(address(row, scheme))
    assert response.status_code == 200
    return text_of(response)


def address(row, scheme: str, name: str = "scheme-proof") -> str:
    return reverse(name, args=[row.pk, row.isa.schemes.get(text=scheme).pk])


def tab(visitor, row, query: str = ""):
    return visitor.get(f"{reverse('mapping', args=[row.pk])}?tab=explained{query}")


def listed(response) -> set[str]:
    return {verdict.row.scheme.text for verdict in response.context["verdicts"]}


def test_the_tab_is_there_only_where_verdicts_are(visitor, row, isa):
    plain = store_mapping("plain", isa, TRUTH, origin=PortMapping.Origin.IMPORT)
    assert "Explained" in visitor.get(reverse("mapping", args=[row.pk])).content.decode()
    page = visitor.get(reverse("mapping", args=[plain.pk]))
    assert "Explained" not in page.content.decode()


def test_the_summary_says_what_the_result_rests_on(visitor, row):
    told = text_of(tab(visitor, row))
    for words in (
        "Requested 9",
        "Characterised 6",
        "Excluded 2",
        "Ambiguous 1",
        "With doubts 2",
        "µops counted by the processor",
        "two ports are hardly told apart",
        "the only mapping that explains the measurements",
        "per scheme 13.3",
    ):
        assert words in told


def test_all_schemes_asked_for_are_listed_with_their_proofs(visitor, row):
    response = tab(visitor, row)
    assert listed(response) == {each.scheme for each in VERDICTS}
    for each in VERDICTS:
        assert address(row, each.scheme) in response.content.decode()
    told = text_of(response)
    assert "too slow to test : takes 40 cycles alone" in told


@pytest.mark.parametrize(
    ("query", "schemes"),
    [
        ("&outcome=excluded", {BSF, DIV}),
        ("&stage=candidates", {DIV}),
        ("&reason=runs+disagree", {CMOV}),
        ("&doubts=1", {ADD_LOAD, CMOV}),
        ("&q=imul", {IMUL, IMUL_LOAD}),
        ("&outcome=excluded&q=bsf", {BSF}),
        ("&class=" + ADD.replace(" ", "+"), {ADD}),
    ],
)
def test_verdicts_are_filtered(visitor, row, query, schemes):
    assert listed(tab(visitor, row, query)) == schemes


def test_verdicts_are_sorted_and_a_wrong_search_is_explained(visitor, row):
    response = tab(visitor, row, "&sort=-cycles")
    assert response.context["verdicts"][0].row.scheme.text == DIV
    wrong = tab(visitor, row, "&q=colour:red")
    assert wrong.status_code == 400
    assert "colour" in text_of(wrong)
    assert tab(visitor, row, "&outcome=perhaps").status_code == 400


def test_blocking_instructions_link_to_their_schemes_and_classes(visitor, row):
    body = tab(visitor, row).content.decode()
    assert "class=add+GPR" in body
    assert "improper" in body
    assert address(row, LOAD) in body


def test_what_breaks_a_pattern_is_listed(visitor, row):
    response = tab(visitor, row)
    assert [each.check.scheme for each in response.context["breakers"]] == [IMUL_LOAD]
    assert "Schemes that break a pattern" in text_of(response)


def test_a_proof_goes_through_the_port_sets_in_ascending_order(visitor, row):
    response = visitor.get(address(row, ADD))
    (run,) = response.context["runs"]
    assert [shown.step.where for shown in run.steps] == ["[1]", "[2]", "[0,1]"]
    told = text_of(response)
    assert "all its µops evade [1]" in told
    assert "uses 1 × [0,1]" in told
    assert "(5.52 − 5.00) · 2 = 1.04 → 1 µop" in told
    assert "3 were not tested in this run." in told
    assert "within 0.30 of a whole number · median of 3 measurements" in told


def test_a_proof_takes_away_what_was_found_on_subsets(visitor, row):
    told = proof(visitor, row, IMUL)
    assert "nothing new on [0,1]: all other µops evade" in told
    assert "1 µop, 1 of them found on subsets" in told


def test_the_picture_has_a_bucket_for_every_port(visitor, row):
    body = visitor.get(address(row, ADD_LOAD)).content.decode()
    pictures = body.split('<figure class="witness-picture">')[1:]
    assert len(pictures) == 3
    for picture in pictures:
        assert picture.count('class="port-name"') == len(PORTS)
    beside_load = pictures[1]
    assert beside_load.count('class="wall flooded"') == 1
    assert 'class="witness-block confined"' in beside_load
    assert 'class="witness-block evading"' in beside_load


def test_doubts_alternatives_and_runs_are_told(visitor, row):
    told = proof(visitor, row, ADD_LOAD)
    assert "Whether it has µops elsewhere cannot be seen." in told
    assert "no experiment tells these apart" in told
    assert "Run 1 concluded 1×[0,1]" in told


def test_an_exclusion_shows_why_and_the_experiments_behind_it(visitor, row):
    told = proof(visitor, row, BSF)
    assert "excluded blocking costs it a time that is no whole number of µops" in told
    assert "1.48 µops beside imul" in told
    assert "odd: no whole number of µops" in told
    assert "no usable measurement" in told
    assert "unstable: repeated measurements differ" in told
    assert "Experiments behind the verdict" in told
    assert "11.480" in told


def test_an_ambiguous_scheme_shows_the_witnesses_of_all_runs(visitor, row):
    response = visitor.get(address(row, CMOV))
    assert [run.verdict for run in response.context["runs"]] == ["1×[0,1]", "1×[1]"]
    assert "Repeated runs found different µops" in text_of(response)


def test_a_scheme_without_witnesses_says_so(visitor, row, isa):
    assert "an earlier stage left it out" in proof(visitor, row, DIV)
    plain = store_mapping("plain", isa, TRUTH, origin=PortMapping.Origin.IMPORT)
    told = proof(visitor, plain, IMUL_LOAD)
    assert "This mapping came without witnesses" in told
    assert "Beside its relatives" in told
    assert visitor.get(address(plain, BSF)).status_code == 404


def test_one_goes_from_scheme_to_scheme(visitor, row):
    response = visitor.get(address(row, ADD_LOAD))
    assert response.context["earlier"][1] == ADD
    assert response.context["later"][1] == BSF
    body = response.content.decode()
    assert reverse("scheme", args=[row.isa.schemes.get(text=ADD_LOAD).pk]) in body
    assert f"{reverse('mapping', args=[row.pk])}?tab=explained" in body


def test_the_schemes_own_page_leads_to_its_proof(visitor, row):
    scheme = row.isa.schemes.get(text=ADD)
    assert address(row, ADD) in visitor.get(reverse("scheme", args=[scheme.pk])).content.decode()


def test_without_a_machine_nothing_can_be_measured_again(visitor, row):
    Machine.objects.create(name="away", kind="agent", isa=row.isa, facts={"flags": []})
    told = proof(visitor, row, ADD)
    assert "No machine of toy is connected" in told


def test_one_click_asks_for_the_two_experiments_of_a_witness(visitor, row, machine):
    step = visitor.get(address(row, ADD)).context["runs"][0].steps[2].step
    page = visitor.post(
        address(row, ADD, "scheme-again"), {"machine": machine.pk, "witness": step.pk}, follow=True
    )
    run = Run.objects.get()
    assert (run.kind, run.config["plan"], run.config["repeats"]) == ("measure", "listed", 3)
    assert run.config["experiments"] == [f"10*{ADD}", f"11*{ADD}"]
    assert run.name in text_of(page)
    assert 'id="again-runs" data-poll' in page.content.decode()


def test_one_click_asks_for_all_witnesses(visitor, row, machine):
    visitor.post(address(row, ADD_LOAD, "scheme-again"), {"machine": machine.pk})
    assert len(Run.objects.get().config["experiments"]) == 6


@pytest.mark.parametrize("data", [{"machine": "999"}, {"machine": "x"}, {}, {"witness": "7"}])
def test_asking_for_what_is_not_there_is_refused(visitor, row, machine, data):
    data = {"machine": machine.pk, **data} if "witness" in data else data
    assert visitor.post(address(row, ADD, "scheme-again"), data).status_code == 404
    assert not Run.objects.exists()


def test_what_was_measured_again_stands_beside_the_old(visitor, row, machine):
    from tests.runs.agents import attempt

    step = visitor.get(address(row, ADD)).context["runs"][0].steps[2].step
    visitor.post(address(row, ADD, "scheme-again"), {"machine": machine.pk, "witness": step.pk})
    attempt(Run.objects.get())
    page = visitor.get(address(row, ADD))
    (again,) = page.context["runs"][0].steps[2].again
    assert (again.base_cycles, again.cycles, again.samples) == (5.0, 5.5, 3)
    told = text_of(page)
    assert (
        "same verdict 5.000 and 5.500 cycles on sim just now : 1.00 µops ( 3 measurements of each )" in told
    )
    assert "data-poll" not in page.content.decode()
    assert not page.context["runs"][0].steps[0].again
