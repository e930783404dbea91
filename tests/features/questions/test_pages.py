"""The page of a question: answers of every kind, ports, explanations, memory dependencies."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from anica_app.models import Campaign
from inference.features.asking.questions import query
from inference.features.asking.questions.query import (
    KIND,
    PredictorAnswer,
    PredictorReport,
    event_of,
    memory_verdict,
)
from inference.models import PortMapping, Predictor, Run
from inference.predictors.memory_variants import AddressRelation, variants
from inference.predictors.protocol import Answer, Failure
from inference.runs.journal import write
from inference.runs.lifecycle import submit
from tests.anica.features.discoveries.test_pages import discovery
from tests.heads import behind_head
from tests.rows.library import ADD, isa, mapping, visitor

__all__ = ["discovery", "isa", "mapping", "visitor"]

pytestmark = pytest.mark.django_db

CODE = bytes.fromhex("4801d8480fafca")  # add rax, rbx; imul rcx, rdx
SAID = {
    "quick": Answer(cycles=1.0),
    "slow": Answer(cycles=4.0),
    "crashed": Answer(failure=Failure.CRASH, detail="signal 11"),
    "late": Answer(failure=Failure.TIMEOUT, detail="no answer within 20 s"),
    "new": Answer(failure=Failure.UNSUPPORTED, detail="what is imul?"),
    "mute": Answer(failure=Failure.NO_NUMBER, detail="nothing in its output"),
}


@pytest.fixture
def tools() -> dict[str, Predictor]:
    """By name: those of `SAID`, one that cannot work, and one that has not answered."""
    return {
        name: Predictor.objects.create(
            name=name, kind="planted", key=name.ljust(64, "0"), identity={"version": f"v of {name}"}
        )
        for name in (*SAID, "absent", "waits")
    }


def asked(tools: dict[str, Predictor], *codes: bytes, **about: object) -> Run:
    """A question that all but one have answered."""
    config = {
        "predictors": [row.pk for row in tools.values()],
        "blocks": [code.hex() for code in codes],
        "about": about,
    }
    run = submit(KIND, config, f"a question {Run.objects.count()}")
    said = [
        PredictorReport(tools[name].pk, name, dict.fromkeys(codes, answer)) for name, answer in SAID.items()
    ]
    said.append(PredictorReport(tools["absent"].pk, "absent", error="its program is gone"))
    write(Run.objects.all(), run.pk, [event_of(one, "x86-64").entry for one in said])
    return run


def url(run: Run) -> str:
    return reverse("asked-blocks", args=[run.pk])


def test_every_answer_is_shown_with_its_kind_and_what_the_tool_said(visitor: Client, tools):
    page = visitor.get(url(asked(tools, CODE)))
    assert page.status_code == 200
    for shown in ("1.00", "4.00", "crash<", "timeout<", "unsupported<", "no number<", "its program is gone"):
        assert shown in page.text
    for answer in SAID.values():
        assert answer.detail in page.text.replace("&#x27;", "'")
    assert "v of slow" in page.text
    assert "7 of 8 predictors have answered" in page.text
    shown = [*page.context["lines"], *page.context["silent"]]
    assert sorted(line.name for line in shown) == sorted(tools)
    assert all(line.cycles is None for line in page.context["silent"])
    assert page.context["live"]["runs"][0]["since"] == 8


def test_the_page_stays_when_the_run_has_ended_and_predictors_are_gone(visitor: Client, tools):
    run = asked(tools, CODE)
    Run.objects.filter(pk=run.pk).update(state="cancelled")
    tools["slow"].delete()
    page = visitor.get(url(run))
    assert "Cancelled: 7 of 8" in page.text
    assert "4.00" in page.text
    assert "not predicted" in page.text
    assert page.context["live"] == {"runs": []}


def test_a_page_takes_a_bounded_number_of_queries(
    visitor: Client, tools, mapping: PortMapping, django_assert_max_num_queries: DjangoAssertNumQueries
):
    run = asked(tools, CODE)
    with django_assert_max_num_queries(17):
        visitor.get(url(run))
    many = asked(tools, *(CODE * n for n in range(1, 60)))
    with django_assert_max_num_queries(7):
        page = visitor.get(url(many))
    assert len(page.context["rows"]) == 25
    assert "59 basic blocks" in page.text
    last = visitor.get(url(many), {"page": 2})
    assert [row.number for row in last.context["rows"]] == list(range(51, 60))
    one = visitor.get(url(many), {"block": 3})
    assert len(one.context["instructions"]) == 6
    for wrong in ("0", "60"):
        assert visitor.get(url(many), {"block": wrong}).status_code == 404


def test_the_table_is_sorted_and_marks_the_answers_that_are_far_from_the_others(visitor: Client, tools):
    codes = [CODE * n for n in (1, 2, 3)]
    config = {"predictors": [row.pk for row in tools.values()], "blocks": [code.hex() for code in codes]}
    run = submit(KIND, config, "three")
    numbers = {"quick": (1.0, 2.0, 3.0), "slow": (4.0, 2.0, None), "crashed": (1.1, 2.0, 9.0)}
    for name, cycles in numbers.items():
        told = [Answer(cycles=number) if number else Answer(failure=Failure.UNSUPPORTED) for number in cycles]
        said = PredictorReport(tools[name].pk, name, dict(zip(codes, told, strict=True)))
        write(Run.objects.all(), run.pk, [event_of(said, "x86-64").entry])

    def shown(sort: str) -> list[int]:
        return [row.number for row in visitor.get(url(run), {"sort": sort}).context["rows"]]

    assert shown("") == [1, 2, 3]
    assert shown(f"-by{tools['slow'].pk}") == [1, 2, 3]
    assert shown(f"by{tools['slow'].pk}") == [2, 1, 3]
    assert shown("-apart") == [1, 3, 2]
    rows = visitor.get(url(run)).context["rows"]
    assert [[line.name for line, odd in row.lines if odd] for row in rows] == [["slow"], [], []]
    assert rows[0].spread_percent == pytest.approx(120)


def test_instructions_lead_to_schemes_and_ports_show_what_each_takes_up(
    visitor: Client, tools, mapping: PortMapping
):
    page = visitor.get(url(asked(tools, CODE)))
    row = mapping.isa.schemes.get(text=ADD)
    assert reverse("scheme", args=[row.pk]) in page.text
    load = page.context["load"]
    assert load.described
    add, imul = (one.ports for one in load.instructions)
    assert imul == (0.0, 1.0, 0.0)
    assert sum(add) == pytest.approx(1.0)
    assert add[1] == pytest.approx(0.0)
    assert "data-buckets" in page.text


def test_any_mapping_can_be_chosen_and_says_what_it_does_not_describe(
    visitor: Client, tools, mapping: PortMapping
):
    other = PortMapping.objects.create(name="adds only", isa=mapping.isa, origin="import", ports=["a", "b"])
    other.usages.create(scheme=mapping.isa.schemes.get(text=ADD), mask=3, count=1)
    run = asked(tools, CODE)
    assert visitor.get(url(run)).context["load"].mapping == mapping  # it describes more
    page = visitor.get(url(run), {"mapping": other.pk})
    assert page.context["load"].mapping == other
    assert [one.ports for one in page.context["load"].instructions] == [(0.5, 0.5), None]
    assert "does not describe all of these" in page.text
    assert "(1 of 2 schemes)" in page.text
    assert "describes none of these" in visitor.get(url(run), {"mapping": 999}).text


def test_the_two_furthest_apart_are_explained_unless_others_are_chosen(visitor: Client, tools):
    run = asked(tools, CODE)
    form = visitor.get(url(run)).context["explain"]
    assert (form.initial["first"], form.initial["second"]) == (tools["slow"].pk, tools["quick"].pk)
    answer = visitor.post(
        url(run), {"press": "explain", "first": tools["slow"].pk, "second": tools["quick"].pk, "samples": 30}
    )
    campaign = Campaign.objects.get(kind=Campaign.Kind.GENERALISATION)
    assert answer.headers["Location"] == reverse("campaign", args=[campaign.pk])
    assert campaign.run is not None
    assert campaign.run.config["block"] == CODE.hex()
    assert campaign.run.config["search"]["samples"] == 30
    page = visitor.get(url(run))
    assert "slow and quick" in page.text
    assert reverse("campaign", args=[campaign.pk]) in page.text
    assert len(page.context["live"]["runs"]) == 2


def test_what_one_prediction_rests_on_is_explained_too(visitor: Client, tools):
    run = asked(tools, CODE)
    visitor.post(url(run), {"press": "explain", "first": tools["slow"].pk, "second": "", "tolerance": "0.2"})
    made = Campaign.objects.get(kind=Campaign.Kind.EXPLANATION).run
    assert made is not None
    assert made.config["predictors"] == [tools["slow"].pk]
    assert made.config["tolerance"] == 0.2


@pytest.mark.parametrize(
    ("first", "second", "more", "said"),
    [
        ("slow", "slow", {}, "agrees with itself"),
        ("slow", "quick", {"threshold": "1.5"}, "They differ by 1.2; only more"),
        ("slow", "quick", {"metric": "absolute", "threshold": "3"}, "They differ by 3 cycles; only more"),
        ("slow", "late", {}, "only a crash counts"),
        ("absent", "quick", {}, "valid choice"),
        ("slow", "quick", {"tolerance": "7"}, "less than or equal to 2"),
    ],
)
def test_what_needs_no_explanation_is_refused_at_once(visitor: Client, tools, first, second, more, said):
    run = asked(tools, CODE)
    data = {"press": "explain", "first": tools[first].pk, "second": tools[second].pk, **more}
    answer = visitor.post(url(run), data)
    assert answer.status_code == 400
    assert said in answer.text
    assert not Campaign.objects.exists()


def test_memory_dependencies_are_asked_with_the_switch_of_llvm_mca(visitor: Client, tools, monkeypatch):
    mca = Predictor.objects.create(name="mca", kind="llvm-mca", key="m" * 64, options={"cpu": "znver2"})
    twins: list[dict[str, str]] = []

    def row_for(kind: str, options: dict[str, str], **_: bool) -> Predictor:
        twins.append(options)
        return Predictor.objects.create(name="mca with the switch", kind=kind, key="w" * 64, options=options)

    monkeypatch.setattr(query, "row_for", row_for)
    code = bytes.fromhex("4801591048015910")  # add [rcx+16], rbx, twice
    run = asked({**tools, "mca": mca}, code)
    assert "Compare" in visitor.get(url(run)).text
    answer = visitor.post(f"{url(run)}?block=1", {"press": "memory"})
    assert answer.headers["Location"].endswith("?block=1#memory")
    assert twins == [{"cpu": "znver2", "flags": "-noalias=false"}]
    question = Run.objects.exclude(pk=run.pk).get()
    codes = list(variants(code).code.values())
    assert question.config["blocks"] == [one.hex() for one in codes]
    answers = {codes[0]: Answer(cycles=12.0), codes[1]: Answer(cycles=6.0), codes[2]: Answer(cycles=6.0)}
    told = PredictorReport(tools["slow"].pk, "slow", answers)
    write(Run.objects.all(), question.pk, [event_of(told, "x86-64").entry])
    page = visitor.get(url(run))
    assert "waits only for the same address" in page.text
    assert "[rdx+0x10]" in page.text
    assert "mca with the switch" in page.text
    assert len(page.context["live"]["runs"]) == 2
    back = visitor.get(url(question))
    assert f"{url(run)}?block=1#memory" in back.text


def test_a_block_without_memory_is_not_compared(visitor: Client, tools):
    run = asked(tools, CODE)
    shown = visitor.get(url(run)).text
    assert "No instruction of this block accesses memory" in shown
    assert 'value="memory"' not in shown
    page = visitor.post(url(run), {"press": "memory"}, follow=True)
    assert "no instruction of this block accesses memory" in page.text
    assert Run.objects.count() == 1


@pytest.mark.parametrize(
    ("cycles", "words"),
    [
        ((2.0, 2.0, 2.0), "does not distinguish the addresses"),
        ((12.0, 6.0, 6.0), "waits only for the same address"),
        ((12.0, 6.0, 12.0), "waits unless the offsets differ"),
        ((12.0, 12.0, 6.0), "waits unless the bases differ"),
        ((12.0, 6.0, 3.0), "differs between all three"),
        ((12.0, None, 6.0), ""),
    ],
)
def test_three_numbers_are_put_into_words(cycles, words):
    cells = tuple(
        PredictorAnswer(1, "tool", None, Answer(failure=Failure.CRASH) if one is None else Answer(cycles=one))
        for one in cycles
    )
    assert len(cells) == len(AddressRelation)
    assert memory_verdict(cells) == words


def test_a_question_about_a_discovery_leads_back_to_it(visitor: Client, tools, discovery):
    tree = discovery.generalisations.earliest("number")
    run = asked(tools, CODE, generalisation=tree.pk, step=3)
    back = f"{reverse('discovery', args=[discovery.pk])}?g={tree.number}&amp;step=3#step"
    assert back in visitor.get(url(run)).text
    assert back in visitor.get(reverse("run", args=[run.pk])).text
    own = asked(tools, CODE, generalisation=["nonsense"], asked="x")
    assert url(own) in visitor.get(reverse("run", args=[own.pk])).text


@pytest.mark.parametrize("made", [{"name": "a question", "asked": []}, {"asked": []}])
def test_the_run_of_a_question_that_has_ended_leads_to_its_answers(visitor: Client, tools, made):
    run = asked(tools, CODE)
    write(
        Run.objects.all(), run.pk, [("result", made), ("state", {"state": "done"})], state="done", result=made
    )
    page = visitor.get(reverse("run", args=[run.pk]))
    assert page.status_code == 200
    assert f'href="{url(run)}"' in page.text
    assert visitor.get(reverse("runs")).status_code == 200


def test_answers_are_taken_away_as_a_set_of_blocks(visitor: Client, tools):
    run = asked(tools, CODE)
    text = visitor.get(reverse("asked-blocks-csv", args=[run.pk])).content.decode()
    assert behind_head(text).splitlines() == [
        "bb,quick,slow,crashed,late,new,mute,absent,waits",
        "4801d8480fafca,1.0,4.0,-1.0,-1.0,-1.0,-1.0,-1.0,-1.0",
    ]


def test_other_runs_have_no_such_page(visitor: Client, isa):
    run = Run.objects.create(name="an import", kind="import", config={})
    assert visitor.get(url(run)).status_code == 404
