"""Pages and files of comparisons of predictors."""

from __future__ import annotations

import csv
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from inference.features.asking.predictors.offers import Offer, Offers
from inference.features.asking.questions import form
from inference.features.judging.engine import starting_pages as starting
from inference.features.judging.engine.bias_tab import grade_words
from inference.models import Machine, Run
from tests.features.engine import compared as small
from tests.features.engine.compared import ADD, COUNT, CYCLES

pytestmark = pytest.mark.django_db


@pytest.fixture
def visitor(client: Client, administrator: User) -> Client:
    client.force_login(administrator)
    return client


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Two ports, an oracle, a tool that counts, one that is absent; on six experiments."""
    small.plant(monkeypatch)
    isa = small.few_schemes()
    made = small.compare(
        {
            "experiment_set": small.measured_set(isa).pk,
            "mappings": [small.ports(isa).pk],
            "tools": ["Oracle"],
            "predictors": [small.planted("counting").pk, small.planted("absent").pk],
        }
    )
    assert made.state == "done", made.error
    return made


def text_of(visitor: Client, run: Run, **fields: object) -> str:
    answer = visitor.get(reverse("comparison", args=[run.pk]), fields)
    assert answer.status_code == 200
    return answer.content.decode().replace("\N{NO-BREAK SPACE}", " ")


def test_the_table_has_scores_coverage_and_why_answers_lack(visitor: Client, run: Run) -> None:
    text = text_of(visitor, run)
    assert "66.67 %" in text  # 4 of 6
    assert "unsupported: 2" in text
    assert "it is not installed" in text
    assert "0.00 %" in text  # the oracle's error
    assert "2× too slow on 1" in text_of(
        visitor, run, longest=1
    )  # the two ports need 0.5 for an add, not 0.25
    assert reverse("mapping", args=[run.config["mappings"][0]]) in text
    assert "a comparison" in visitor.get(reverse("comparisons")).content.decode()
    assert reverse("comparison", args=[run.pk]) in visitor.get(reverse("runs")).content.decode()


def test_filters_narrow_what_is_scored(visitor: Client, run: Run) -> None:
    assert "5 of 6 experiments" in text_of(visitor, run, q="add")
    assert "2 of 6 experiments" in text_of(visitor, run, q="add", among="only")
    assert "2 of 6 experiments" in text_of(visitor, run, shortest=1, longest=1)
    assert "4 of 6 experiments" in text_of(visitor, run, common=1)
    assert "2 of 6 experiments" in text_of(visitor, run, ext="POPCNT")
    assert "predicts none of" not in text_of(visitor, run, q="nosuch")  # nothing is selected
    refused = visitor.get(reverse("comparison", args=[run.pk]), {"q": "colour:red"})
    assert refused.status_code == 400
    assert "colour" in refused.content.decode()
    for wrong in (
        {"column": "9", "tab": "map"},
        {"unit": "miles"},
        {"bin": "99,1", "tab": "map"},
        {"tab": "x"},
    ):
        assert visitor.get(reverse("comparison", args=[run.pk]), wrong).status_code == 400


def test_a_bin_lists_its_experiments(visitor: Client, run: Run) -> None:
    answer = visitor.get(reverse("comparison", args=[run.pk]), {"tab": "map", "column": 0})
    counts = answer.context["heat_map"]["figure"]["data"][0]["customdata"]
    filled = [(r, c) for r, line in enumerate(counts) for c, count in enumerate(line) if count]
    assert sum(counts[r][c] for r, c in filled) == 4
    seen = []
    for place in filled:
        text_bin = visitor.get(
            reverse("comparison", args=[run.pk]), {"tab": "map", "column": 0, "bin": f"{place[0]},{place[1]}"}
        )
        assert text_bin.context["bin_total"] == counts[place[0]][place[1]]
        seen += [row.measured for row in text_bin.context["bin_rows"]]
    assert sorted(seen) == sorted([0.25, 1.0, 1.05, 1.0])
    worst = [abs(row.difference) for row in answer.context["bin_rows"]]
    assert worst == sorted(worst, reverse=True)
    linear = visitor.get(
        reverse("comparison", args=[run.pk]), {"tab": "map", "column": 0, "colours": "linear"}
    )
    assert linear.context["heat_map"]["figure"]["data"][0]["zmax"] == max(map(max, counts))


def test_small_maps_share_their_scales(visitor: Client, run: Run) -> None:
    scores = visitor.get(reverse("comparison", args=[run.pk]))
    figures = scores.context["small_maps"]["figures"]
    assert len(figures) == len(scores.context["panels"]) == 3  # the absent one has none
    assert len({tuple(each["layout"]["xaxis"]["range"]) for each in figures}) == 1
    assert len({each["data"][0]["zmax"] for each in figures}) == 1
    by_length = visitor.get(reverse("comparison", args=[run.pk]), {"tab": "map", "column": 1})
    assert [panel.title for panel in by_length.context["panels"]][:2] == ["1 instruction", "2 instructions"]


def test_schemes_are_listed_by_how_far_a_predictor_is_off(visitor: Client, run: Run) -> None:
    url = reverse("comparison", args=[run.pk])
    page = visitor.get(url, {"tab": "schemes", "column": 0})
    rows = page.context["rows"]
    assert rows[0].text == ADD
    assert rows[0].bias.alone == pytest.approx(2.0)  # of {add} and {4 add}
    assert COUNT not in {row.text for row in rows}
    assert reverse("scheme", args=[rows[0].pk]) in page.content.decode()
    slow = visitor.get(url, {"tab": "schemes", "column": 0, "grade": "+1", "beyond": "1"})
    assert [row.bias.grade >= 1 for row in slow.context["rows"]] == [True] * slow.context["page"].total
    pinned = visitor.get(url, {"tab": "map", "column": 1, "of": rows[0].pk})
    assert pinned.context["selected"] == 5
    assert grade_words(3) == "2× to 4× too slow"
    assert grade_words(-4) == "4× and more too fast"


def test_tables_leave_as_csv(visitor: Client, run: Run) -> None:
    def rows(name: str, **fields: object) -> list[dict[str, str]]:
        answer = visitor.get(reverse(name, args=[run.pk]), fields)
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        return list(csv.DictReader(line for line in content.decode().splitlines() if line[0] != "#"))

    scores = rows("comparison-scores-csv", unit="ipc")
    assert [row["predictor"] for row in scores] == ["two ports", "Oracle", "counting", "absent"]
    assert (scores[0]["n"], scores[0]["of"], scores[0]["unit"]) == ("4", "6", "ipc")
    assert {row["scheme"]: row["n"] for row in rows("comparison-schemes-csv", column=0)}[ADD] == "3"
    answers = rows("comparison-answers-csv")
    assert [float(row["measured"]) for row in answers] == CYCLES
    assert answers[2]["experiment"].startswith(f"2*{ADD}; ")
    assert [row["two ports"] for row in answers] == ["0.5", "1.0", "1.5", "", "2.0", ""]


def test_pages_take_few_queries(visitor: Client, run: Run, django_assert_max_num_queries: Any) -> None:
    for fields in ({}, {"tab": "map", "column": 1, "bin": "3,3"}, {"tab": "schemes"}, {"q": "add"}):
        with django_assert_max_num_queries(20):  # nothing is in memory yet for the first
            visitor.get(reverse("comparison", args=[run.pk]), fields)
    with django_assert_max_num_queries(9):
        visitor.get(reverse("comparison", args=[run.pk]), {"tab": "map", "column": 1, "bin": "3,3"})


def test_the_form_offers_what_suits_a_set_and_starts(
    visitor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Nothing to compare on yet" in visitor.get(reverse("comparison-new")).content.decode()
    isa = small.few_schemes()
    judge, mapping = small.measured_set(isa), small.ports(isa)
    row = small.planted("counting")
    tool = Offer("planted:0", "A tool 1.0")
    monkeypatch.setattr(starting, "offers", lambda: Offers([tool], [], [], []))
    monkeypatch.setattr(form, "predictor_row", lambda text: row)
    url = f"{reverse('comparison-new')}?set={judge.pk}"
    page = visitor.get(url).content.decode()
    for words in ("A tool 1.0", "two ports", "Oracle"):
        assert words in page
    assert reverse("comparison-new") in visitor.get(reverse("set", args=[judge.pk])).content.decode()
    asked = {"mappings": mapping.pk, "tools": "Oracle", "predictors": "planted:0", "most": 100}
    answer = visitor.post(url, asked)
    run = Run.objects.get(kind="judge")
    assert answer.url == reverse("comparison", args=[run.pk])
    assert run.config["sources"] == [f"mapping:{mapping.pk}", "tool:Oracle", f"predictor:{row.pk}"]
    assert (run.config["most"], run.config["instructions"]) == (100, 10)
    waiting = visitor.get(answer.url).content.decode()
    assert f'data-waits-for="{run.pk}"' in waiting
    assert visitor.post(url, {}).status_code == 400  # nobody to compare


def test_the_form_of_a_mapping_starts_with_the_largest_set_of_its_machine(visitor: Client) -> None:
    isa = small.few_schemes()
    machine = Machine.objects.create(name="a core", kind=Machine.Kind.AGENT, isa=isa)
    mapping, largest = small.ports(isa), small.measured_set(isa, "by anybody")
    learnt_from = small.measured_set(isa, "of the core", first=2)
    newest = small.measured_set(isa, "of the core, three experiments", first=3)
    url = reverse("comparison-new")
    assert visitor.get(url, {"source": f"mapping:{mapping.pk}"}).context["subject"] == largest
    for row in (mapping, learnt_from, newest):
        row.machine = machine
        row.save()
    assert visitor.get(url, {"source": f"mapping:{mapping.pk}"}).context["subject"] == learnt_from
    assert visitor.get(url, {"source": f"set:{learnt_from.pk}"}).context["subject"] == newest
    assert visitor.get(url).context["subject"] == newest
