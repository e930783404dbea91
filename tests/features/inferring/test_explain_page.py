"""The page of an explainable inference: funnel, blocking instructions, who was left out; live and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from inference.core.events import Event, Progress
from inference.core.explain import REASONS, STAGES, NotCharacterised
from inference.core.explain.events import Blocked, BottleneckEvent, Excluded, Funnel, Verdicts
from inference.core.explain.problem import BlockingClass
from inference.features.learning.inferring.explain_page import WIDTH, bars
from inference.features.learning.inferring.outcome_lists import (
    OPEN,
    ExplainRecord,
    SchemeOutcome,
    majority_verdict,
)
from inference.features.running.runs.record import fold
from inference.models import ISA, Characterisation, PortMapping, Run
from inference.runs import journal, leases, lifecycle
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping
from tests.core.explain.small import ZENLIKE, mapping_of
from tests.work import work_off

NAMES = ("add", "sub", "imul", "shl", "rol", "load", "vaddps", "add r, m", "imul r, m")
TRUTH = replace(
    ZENLIKE,
    usage={name: ZENLIKE.usage[name] for name in NAMES} | mapping_of("0123456", {"odd": "0 0 12"}).usage,
)
"""No scheme has the µop on port 0 of `odd`, so that it takes longer than what can be found of it."""

ODD = "<b>odd</b>"
SCHEMES = [*"abcdefgh", ODD]


def classes(*, known: bool) -> tuple[BlockingClass, ...]:
    return (
        BlockingClass("a", 4, 0b1111 if known else 0, ("a", "b", "c")),
        BlockingClass("d", 1, 0b10000 if known else 0, ("d",)),
        *([BlockingClass("h", 1, 0b100000, ("h",), improper=True, beside=((0b1111, 1),))] if known else []),
    )


STORY: Sequence[Event] = (
    Excluded("alone", ((ODD, "unstable", "<i>0.3</i> and 0.9 cycles"), ("g", "unmeasured", "it failed"))),
    Funnel("alone", 7),
    Excluded("candidates", (("f", "slower than ports explain", "a single µop takes 1/n cycles"),)),
    Funnel("candidates", 6),
    Blocked(classes(known=False), ()),
    Funnel("classes", 6),
    BottleneckEvent(4.0),
    Funnel("bottleneck", 6),
    Blocked(classes(known=True), tuple("012345")),
    Funnel("blocking", 6),
    Verdicts(1, (*((s, "characterised", "1×[0,1,2,3]") for s in "abcd"), ("e", "microcode", "4 floods"))),
    Verdicts(2, (*((s, "characterised", "1×[0,1,2,3]") for s in "abc"), ("d", "characterised", "1×[4]"))),
)
"""Nine schemes: two without a sensible measurement, one too slow, and tests of which one disagrees."""


def entries(events: Sequence[Event]) -> list[tuple[str, dict[str, Any]]]:
    return [(event.kind, event.payload()) for event in events]


def phase(name: str) -> tuple[str, dict[str, Any]]:
    return "phase", {"name": name, "index": list(STAGES).index(name) + 1, "labels": list(STAGES.values())}


def record_of(told: Sequence[tuple[str, dict[str, Any]]]) -> ExplainRecord:
    at = "2026-01-01T00:00:00+00:00"
    return fold(
        {"seq": seq, "kind": kind, "payload": payload, "at": at}
        for seq, (kind, payload) in enumerate(told, start=1)
    ).parts["explain"]


@pytest.fixture
def toy(db: None) -> ISA:
    """The schemes of both processors of these tests."""
    return new_isa("toy", [*TRUTH.usage, *SCHEMES], "a test")


@pytest.fixture
def waiting(toy: ISA) -> Run:
    """A run that nobody has begun."""
    truth = store_mapping("truth", toy, TRUTH, origin=PortMapping.Origin.EXAMPLE)
    source = {"simulate": truth.pk, "counters": "uops"}
    config = {"algorithm": "explain", "source": source, "ports": 7, "mixes": 10}
    return lifecycle.submit("infer", config, "explained")


@pytest.fixture
def running(waiting: Run) -> Run:
    """A run in the middle of its tests; what it told is made up."""
    assert leases.claim("w") is not None
    waiting.refresh_from_db()
    journal.write(Run.objects.all(), waiting.pk, [*map(phase, STAGES), *entries(STORY)])
    return waiting


@pytest.fixture
def found(waiting: Run) -> Run:
    """A run that has ended."""
    work_off(waiting)
    assert waiting.state == "done", waiting.error
    return waiting


def page(visitor: Client, run: Run, **query: object):
    return visitor.get(reverse("run", args=[run.pk]), query)


def numbers(tally) -> tuple[int | None, ...]:
    return tally.requested, tally.characterised, tally.excluded, tally.ambiguous, tally.open


# ---- folding


def test_what_an_attempt_tells_again_changes_nothing():
    warning = "log", {"level": "warning", "text": "as wide as R_max"}
    once = [*entries(STORY), warning, ("log", {"level": "info", "text": "fine"})]
    assert record_of(once) == record_of([*once, *once[3:]])
    assert list(record_of(once).warnings) == ["as wide as R_max"]


def test_schemes_asked_for_are_known_when_all_have_been_measured_alone():
    assert record_of(entries(STORY[:1])).requested is None
    assert record_of(entries(STORY[:2])).requested == record_of(entries(STORY)).requested == len(SCHEMES)


@pytest.mark.parametrize(
    ("said", "outcome", "reason"),
    [
        (["1×[0]"], "characterised", ""),
        (["1×[0]", "1×[0]"], "characterised", ""),
        (["1×[0]", "1×[1]"], OPEN, "runs disagree"),
        (["1×[0]", "!microcode", "1×[0]"], "characterised", ""),
        (["1×[0]", "!microcode", "1×[1]"], "ambiguous", "runs disagree"),
        (["1×[0]", "!microcode", "!unstable"], "excluded", "microcode"),
        (["!microcode", "!unstable", "!unstable"], "excluded", "unstable"),
        (["!microcode", "1×[0]", "!microcode"], "excluded", "microcode"),
    ],
)
def test_the_majority_of_the_runs_says_what_became_of_a_scheme(said: list[str], outcome: str, reason: str):
    verdicts = {
        run: SchemeOutcome("a", "remaining", "excluded", text[1:], f"{run} cycles")
        if text.startswith("!")
        else SchemeOutcome("a", "remaining", "characterised", "", text)
        for run, text in enumerate(said, start=1)
    }
    told = majority_verdict(verdicts, 3, over=False)
    assert (told.outcome, told.reason) == (outcome, reason)
    assert majority_verdict(verdicts, 3, over=True).outcome == ("ambiguous" if outcome == OPEN else outcome)


# ---- the funnel


def test_a_bar_is_as_wide_as_its_schemes_and_none_is_too_small_to_be_seen():
    told = [SchemeOutcome(str(k), "alone", "excluded", "unstable") for k in range(1000)]
    told += [SchemeOutcome("x", "classes", "excluded", "unstable")]
    told += [SchemeOutcome(str(k), "remaining", "characterised") for k in range(1000, 1500)]
    states = dict.fromkeys(STAGES, "done") | {"remaining": "current"}
    asked, alone, candidates, sorted_out, *_, last = bars(4000, told, states)
    assert (asked.left, asked.widths) == (4000, (WIDTH, 0, 0))
    assert (alone.left, alone.lost, alone.widths) == (3000, 1000, (750, 0, 250))
    assert (candidates.left, candidates.lost, candidates.widths) == (3000, 0, (750, 0, 0))
    assert (sorted_out.left, sorted_out.lost) == (2999, 1)
    assert sorted_out.widths[2] > 1
    assert sum(sorted_out.widths) == 750
    assert (last.left, last.widths) == (500, (125, 625, 0))
    assert last.parts == [("through", 0, 125), ("within", 125, 625)]


def test_stages_to_come_have_an_outline_and_no_number():
    for bar in bars(None, [], {}):
        assert (bar.left, bar.lost, bar.widths) == (None, 0, (0, WIDTH, 0))
    ahead = bars(10, [], {"alone": "current"})
    assert [bar.left for bar in ahead] == [10, 10, *[None] * 5]
    assert {bar.widths for bar in ahead[1:]} == {(0, WIDTH, 0)}


# ---- the page while the run goes on


def test_while_it_goes_on_the_page_shows_what_was_told(visitor: Client, running: Run):
    answer = page(visitor, running)
    text = answer.content.decode()
    assert numbers(answer.context["tally"]) == (9, 3, 4, 0, 2), "h is to be tested, d once more"
    assert [(bar.stage, bar.left, bar.lost) for bar in answer.context["funnel"]] == [
        ("", 9, 0),
        ("alone", 7, 2),
        ("candidates", 6, 1),
        ("classes", 6, 0),
        ("bottleneck", 6, 0),
        ("blocking", 6, 0),
        ("remaining", 3, 1),
    ]
    assert answer.context["r_max"] == 4.0
    assert "data-heat-map" not in text, "that is what an evolution shows"
    assert "data-curve" not in text
    assert "scheme-proof" not in text
    for region in ("run-remarks", "run-tally", "run-funnel", "left-out", "run-blocking", "run-reasons"):
        assert text.count(f'id="{region}"') == 1


def test_the_blocking_instructions_get_their_ports_when_they_are_known(visitor: Client, running: Run):
    wide, narrow, improper = page(visitor, running).context["blocking"]
    assert (wide.blocker, wide.width, wide.members, wide.wide) == ("a", 4, 3, True)
    assert wide.ports == [(k, str(k)) for k in range(4)]
    assert (narrow.wide, narrow.improper, narrow.ports) == (False, False, [(4, "4")])
    assert (improper.improper, improper.ports, improper.beside) == (True, [(5, "5")], ((0b1111, 1),))
    text = page(visitor, running).content.decode()
    assert "improper" in text
    assert "nothing is claimed" in text
    running.events.filter(kind="blocking").order_by("-seq").first().delete()
    wide, narrow = page(visitor, running).context["blocking"]
    assert (wide.ports, wide.sought) == ([], False)


def test_before_anything_is_known_the_page_is_drawn_all_the_same(visitor: Client, waiting: Run):
    answer = page(visitor, waiting)
    assert numbers(answer.context["tally"]) == (None, 0, 0, 0, None)
    assert answer.context["blocking"] == []
    journal.write(
        Run.objects.all(),
        waiting.pk,
        [phase("alone"), Progress("alone", 3, 9, 0.0, "schemes", None).entry],
    )
    assert page(visitor, waiting).context["tally"].requested == 9


def test_warnings_stand_above_everything_once(visitor: Client, running: Run):
    for _ in range(2):
        journal.write(Run.objects.all(), running.pk, [("log", {"level": "warning", "text": "R_max <b>"})])
    answer = page(visitor, running)
    assert answer.context["remarks"] == ["R_max <b>"]
    assert '<p class="notice notice-warning">R<sub>max</sub> &lt;b&gt;</p>' in answer.content.decode()


# ---- lists


def test_a_stage_lists_whom_it_left_out_by_reason(visitor: Client, running: Run):
    answer = page(visitor, running, stage="alone")
    assert [line.outcome.scheme for line in answer.context["listing_lines"]] == ["g", ODD]
    assert [line.opens for line in answer.context["listing_lines"]] == [True, True]
    text = answer.content.decode()
    assert "<b>odd</b>" not in text, "names of schemes are text"
    assert "<i>0.3</i>" not in text
    assert "&lt;i&gt;0.3&lt;/i&gt; and 0.9 cycles" in text
    assert REASONS[NotCharacterised.UNSTABLE] in text
    one = page(visitor, running, stage="alone", reason="unstable")
    assert [line.outcome.scheme for line in one.context["listing_lines"]] == [ODD]
    assert [group.chosen for group in one.context["listing"].groups] == [False, True]
    assert page(visitor, running, stage="bottleneck").context["listing_total"] == 0


def test_a_reason_lists_its_schemes_of_all_stages(visitor: Client, running: Run):
    lines = page(visitor, running).context["reasons"]
    assert {line.reason: line.count for line in lines} == {
        "unstable": 1,
        "unmeasured": 1,
        "slower than ports explain": 1,
        "microcode": 1,
    }
    for line in lines:
        answer = visitor.get(reverse("run", args=[running.pk]) + line.url.partition("#")[0])
        assert answer.context["listing_total"] == line.count


def test_a_class_lists_its_members_with_what_became_of_them(visitor: Client, running: Run):
    answer = page(visitor, running, **{"class": "a"})
    assert [(x.outcome.scheme, x.outcome.outcome) for x in answer.context["listing_lines"]] == [
        ("a", "characterised"),
        ("b", "characterised"),
        ("c", "characterised"),
    ]
    assert page(visitor, running, **{"class": "no such"}).context["listing_total"] == 0


def test_long_lists_are_searched_and_paged(visitor: Client, running: Run, toy: ISA):
    many = [f"z{k:03}" for k in range(250)]
    told = Excluded("classes", tuple((scheme, "contradictory equivalence", "") for scheme in many))
    journal.write(Run.objects.all(), running.pk, entries([told]))
    first = page(visitor, running, stage="classes")
    assert first.context["page"].total == 250
    last = page(visitor, running, stage="classes", page=2)
    assert [line.outcome.scheme for line in last.context["listing_lines"]] == many[200:]
    assert last.context["listing_lines"][0].opens, "every page says which reason it begins with"
    some = page(visitor, running, stage="alone", q="g")
    assert [line.outcome.scheme for line in some.context["listing_lines"]] == ["g"]
    assert page(visitor, running, stage="alone", q="memory:sideways").context["listing_error"]


@pytest.mark.parametrize(
    "query", [{"stage": "nowhere"}, {"reason": "bad luck"}, {"stage": "alone", "page": "x"}]
)
def test_addresses_that_mean_nothing_are_refused(visitor: Client, running: Run, query: dict[str, str]):
    assert page(visitor, running, **query).status_code == 400


# ---- when it is done


def test_a_finished_run_adds_up_and_says_the_same_as_its_result(visitor: Client, found: Run):
    answer = page(visitor, found)
    tally = answer.context["tally"]
    told = (found.result[name] for name in ("asked", "characterised", "excluded", "ambiguous"))
    assert numbers(tally) == (*told, 0)
    assert tally.characterised == len(TRUTH.usage) - 1
    funnel = answer.context["funnel"]
    assert funnel[-1].left == tally.characterised
    assert sum(bar.lost for bar in funnel) == tally.excluded + tally.ambiguous
    assert all(sum(bar.widths) == round(WIDTH * (bar.left + bar.lost) / tally.requested) for bar in funnel)
    assert answer.context["counts_from"] == "by the processor"
    row = PortMapping.objects.get(run=found)
    assert f"{reverse('mapping', args=[row.pk])}?tab=accuracy" in answer.content.decode()


def test_without_counts_the_page_says_what_the_result_rests_on(visitor: Client, found: Run):
    assert "µops were not counted" not in page(visitor, found).content.decode()
    row = PortMapping.objects.get(run=found)
    row.report["explain"]["counts_from"] = "throughput"
    row.save()
    assert "µops were not counted" in page(visitor, found).content.decode()


def test_every_scheme_leads_to_its_proof_once_there_is_a_mapping(visitor: Client, found: Run):
    row = PortMapping.objects.get(run=found)
    odd = Characterisation.objects.get(mapping=row, scheme__text="odd")
    answer = page(visitor, found, stage=odd.stage)
    (line,) = answer.context["listing_lines"]
    assert line.outcome.text == odd.text
    assert line.url == reverse("scheme-proof", args=[row.pk, odd.scheme_id])
    assert all(each.url.startswith(f"/mappings/{row.pk}/") for each in answer.context["blocking"])


def test_when_the_mapping_is_deleted_the_journal_says_the_same(visitor: Client, found: Run):
    before = page(visitor, found)
    PortMapping.objects.get(run=found).delete()
    after = page(visitor, found, stage="remaining")
    assert after.context["tally"] == before.context["tally"]
    assert after.context["funnel"] == before.context["funnel"]
    assert after.context["reasons"] == before.context["reasons"]
    assert {line.url.split("/")[1] for line in after.context["listing_lines"]} <= {"schemes"}


def test_the_list_of_runs_says_how_many_schemes_were_explained(visitor: Client, found: Run):
    text = visitor.get(reverse("runs")).content.decode()
    assert f"{found.result['characterised']} of {len(TRUTH.usage)} schemes characterised" in text


def test_what_was_asked_reads_well(visitor: Client, found: Run):
    items = {item.label: item.text for item in page(visitor, found).context["config_lines"]}
    assert items["Algorithm"] == "Explainable inference"
    assert items["Counters"] == "µops"
    assert items["R_max"].startswith("measured: ")
    assert "Bottleneck rate" not in items


def test_a_table_of_counts_is_told_in_a_line(visitor: Client, waiting: Run):
    Run.objects.filter(pk=waiting.pk).update(
        config=waiting.config | {"known": {"uops": {f"z{k}": 1 for k in range(3000)}}}
    )
    items = {item.label: item.text for item in page(visitor, waiting).context["config_lines"]}
    assert items["µops known"].endswith("and 2,992 more")


def test_the_form_has_a_heading_for_every_setting(visitor: Client, db: None):
    form = visitor.get(reverse("infer"), {"algorithm": "explain"}).context["form"]
    assert "" not in dict(form.setting_groups), "settings without a heading"
    assert [field.name for field in form.known_fields] == ["uops", "improper", "documented"]
    assert "Schemes without a line are excluded" in form["uops"].help_text
    assert all("uop" not in field.label for _, fields in form.setting_groups for field in fields)
