"""Runs: the list, the page that is live and later the record, and what can be asked of a run."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client
from django.utils.html import escape

from inference.core.events import PhaseStarted
from inference.core.protocols import Json
from inference.features.running.runs.kind_presentation import config_lines
from inference.features.running.runs.query import result_if_stopped
from inference.figures.heatmap import heat_map
from inference.models import ISA, ExperimentSet, Machine, PortMapping, Run, Upload
from inference.runs.journal import append
from inference.runs.leases import claim, fail
from inference.runs.lifecycle import pause, submit
from tests.features.runs.entries import generation, phase, waiting
from tests.work import read_uploads, work_off


@pytest.fixture
def run(experiment_set: ExperimentSet) -> Run:
    """A run that waits for a worker."""
    config = {"source": {"datasets": [experiment_set.pk]}, "ports": 3, "settings": {"population": 40}}
    return submit("infer", config, "a run")


PICTURE: tuple[str, Json] = (
    "heat_map",
    {
        "figure": heat_map([1.0, 2.0], [1.0, 2.5]).as_json(),
        "scores": {"n": 2, "mape": 12.5, "pearson": 1.0, "kendall": None},
        "on": "held-out",
    },
)


def working(run: Run, *entries: tuple[str, Json], progress: Json | None = None) -> Any:
    """Let a worker claim the run and tell something; returns its lease."""
    lease = claim("a test", only=run.pk)
    assert lease is not None
    append(lease, entries, progress=progress)
    return lease


def test_the_page_of_a_waiting_run_says_what_was_asked(
    visitor: Client, run: Run, experiment_set: ExperimentSet
):
    page = visitor.get(f"/runs/{run.pk}/").content.decode()
    assert "Waiting for a worker; it starts automatically" in page
    assert f'href="/sets/{experiment_set.pk}/"' in page
    shown = visitor.get(f"/runs/{run.pk}/").context
    asked = {item.label: item for item in shown["config_lines"]}
    assert asked["Population"].changed
    assert "Convergence" not in asked
    assert "Convergence" in {item.label for item in shown["usual"]}
    assert f"{len(shown['usual'])} defaults" in page


def test_a_run_that_waits_says_behind_which_one(visitor: Client, run: Run):
    second = submit("infer", run.config, "second")
    working(run)
    page = visitor.get(f"/runs/{second.pk}/").content.decode()
    assert f'behind <a href="/runs/{run.pk}/">a run</a> (running).' in page
    assert "Waiting for a worker" not in visitor.get(f"/runs/{run.pk}/").content.decode()


def test_a_whole_says_that_its_part_is_at_work_and_the_part_who_goes_on_with_it(visitor: Client, run: Run):
    part = submit("infer", run.config, "the part", part_of=run)
    assert visitor.get(f"/runs/{part.pk}/").context["waiting"].parent == run
    working(part)
    waiting = visitor.get(f"/runs/{run.pk}/").context["waiting"]
    assert (waiting.part, waiting.ahead) == (part, None)
    other = submit("infer", run.config, "another")
    assert visitor.get(f"/runs/{other.pk}/").context["waiting"].ahead == run


def test_a_failed_run_begins_with_what_failed_and_what_is_kept(
    visitor: Client, run: Run, experiment_set: ExperimentSet
):
    lease = working(run, phase(1))
    ExperimentSet.objects.filter(pk=experiment_set.pk).update(run=run)
    fail(lease, "out of memory: the run needed more\n\nTraceback <of> it")
    shown = visitor.get(f"/runs/{run.pk}/")
    failure = shown.context["failure"]
    assert (failure.stage, failure.what) == ("Stage of measuring", "out of memory: the run needed more")
    assert [each.name for each in failure.outcomes] == [experiment_set.name]
    assert failure.advice
    page = shown.content.decode()
    assert "Traceback &lt;of&gt; it" in page
    assert page.index('id="run-failure"') < page.index('id="run-state"')


def test_a_run_at_work_offers_to_keep_what_there_is_where_it_can(visitor: Client, run: Run):
    keep = f'action="/runs/{run.pk}/keep/"'
    assert keep not in visitor.get(f"/runs/{run.pk}/").content.decode()  # it waits
    working(run)
    page = visitor.get(f"/runs/{run.pk}/").content.decode()
    assert keep in page
    assert page.count(f'action="/runs/{run.pk}/cancel/"') == 1
    visitor.post(f"/runs/{run.pk}/keep/")
    run.refresh_from_db()
    assert run.wanted == "keep"
    run.kind = "evaluate"
    assert not result_if_stopped(run)


def test_the_time_spent_on_a_working_run_counts_and_that_on_another_stands(visitor: Client, run: Run):
    for path in (f"/runs/{run.pk}/", "/runs/"):
        assert "data-busy" not in visitor.get(path).content.decode()
    working(run)
    for path in (f"/runs/{run.pk}/", "/runs/"):
        page = visitor.get(path).content.decode()
        assert 'data-busy="0.' in page
        assert "Starting" in page


def test_an_evaluation_set_is_named_beside_the_scores(
    visitor: Client, run: Run, experiment_set: ExperimentSet
):
    working(run, PICTURE)
    assert visitor.get(f"/runs/{run.pk}/heat-map/").json()["on"] == "held-out"
    Run.objects.filter(pk=run.pk).update(config=run.config | {"evaluate": experiment_set.pk})
    assert visitor.get(f"/runs/{run.pk}/heat-map/").json()["on"] == "of small"
    assert visitor.get(f"/runs/{run.pk}/").context["judged_on"] == "of small"


def live_data(visitor: Client, run: Run) -> Json:
    """What the page hands to its script."""
    page = visitor.get(f"/runs/{run.pk}/").content.decode()
    found = re.search(r'<script id="run-record" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: Json = json.loads(found.group(1))
    return data


def test_the_page_of_a_working_run_starts_where_the_live_journal_goes_on(visitor: Client, run: Run):
    working(run, phase(1), phase(2), generation(0), generation(1, 0.25), PICTURE)
    data = live_data(visitor, run)
    assert data["since"] == run.events.latest("seq").seq
    assert data["live"]
    assert data["curve"]["data"][0]["x"] == [0, 1]
    assert data["curve"]["data"][0]["y"] == [50, 25]
    assert data["heat_map"]["figure"]["data"][0]["type"] == "heatmap"
    page = visitor.get(f"/runs/{run.pk}/").content.decode()
    assert "Stage of evolution" in page
    assert "12.50" in page


def test_the_page_of_an_ended_run_is_drawn_from_its_journal(visitor: Client, run: Run):
    lease = working(run, phase(1), phase(2), generation(7), PICTURE)
    fail(lease, "the data contradict each other")
    data = live_data(visitor, run)
    assert not data["live"]
    assert data["curve"]["data"][0]["x"] == [7]
    page = visitor.get(f"/runs/{run.pk}/").content.decode()
    assert "the data contradict each other" in page
    assert ">Pause<" not in page


def test_the_newest_heat_map_is_a_picture_of_its_own_address(visitor: Client, run: Run):
    assert visitor.get(f"/runs/{run.pk}/heat-map/").json() is None
    working(run, PICTURE)
    answer = visitor.get(f"/runs/{run.pk}/heat-map/").json()
    assert answer["scores"]["mape"] == 12.5
    assert answer["figure"]["layout"]["xaxis"]["title"]["text"] == "measured (cycles)"


def test_every_kind_of_run_leads_to_what_it_made_as_long_as_it_is_there(
    visitor: Client, run: Run, mapping: PortMapping, experiment_set: ExperimentSet
):
    config = {"mapping": mapping.pk, "experiment_set": experiment_set.pk, "unit": "ipc"}
    evaluation = submit("evaluate", config, "an evaluation")
    work_off(evaluation)
    address = f"/mappings/{mapping.pk}/?tab=accuracy&set={experiment_set.pk}&unit=ipc"
    for path in (f"/runs/{evaluation.pk}/", "/runs/"):
        assert f'href="{escape(address)}"' in visitor.get(path).content.decode()
    mapping.delete()
    assert visitor.get(f"/runs/{evaluation.pk}/").context["outcome"] is None


def test_a_run_is_paused_resumed_and_cancelled_by_its_buttons(visitor: Client, run: Run):
    for action, state in (("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")):
        response = visitor.post(f"/runs/{run.pk}/{action}/")
        assert response.headers["Location"] == f"/runs/{run.pk}/"
        run.refresh_from_db()
        assert run.state == state


def test_what_a_run_cannot_do_is_said_on_its_page(visitor: Client, run: Run):
    response = visitor.post(f"/runs/{run.pk}/resume/", follow=True)
    assert "only paused runs can" in response.content.decode()
    assert visitor.post(f"/runs/{run.pk}/explode/").status_code == 404


def test_looking_at_an_action_changes_nothing(visitor: Client, run: Run):
    assert visitor.get(f"/runs/{run.pk}/cancel/").status_code == 405
    run.refresh_from_db()
    assert run.state == "queued"


def test_the_list_filters_by_name_state_and_kind(visitor: Client, run: Run):
    pause(run)
    for query, count in (("", 1), ("?q=run", 1), ("?q=nothing", 0), ("?state=paused", 1), ("?state=done", 0)):
        assert len(visitor.get(f"/runs/{query}").context["page"].rows) == count, query
    assert visitor.get("/runs/?state=asleep").status_code == 400


def test_the_list_shows_progress_with_the_time_left(visitor: Client, run: Run):
    progress = {"phase": "evolution", "done": 30, "total": 60, "unit": "generations", "rate": 1.0, "eta": 90}
    working(run, PhaseStarted("evolution", 1, ["Evolve"], 0.0).entry, progress=progress)
    Run.objects.filter(pk=run.pk).update(busy_seconds=90)
    page = visitor.get("/runs/").content.decode()
    assert "30 of 60" in page
    assert "about 1 min 30 s left" in page
    assert "about 1 min 30 s left" in visitor.get(f"/runs/{run.pk}/").content.decode()


def test_the_list_needs_as_many_queries_for_many_runs_as_for_one(
    visitor: Client, run: Run, django_assert_max_num_queries: Any
):
    for number in range(20):
        submit("infer", run.config, f"run {number}")
    with django_assert_max_num_queries(8):
        assert len(visitor.get("/runs/").context["page"].rows) == 21


def test_without_any_run_the_list_leads_to_the_form(visitor: Client):
    assert 'href="/infer/"' in visitor.get("/runs/").content.decode()


def test_name_and_note_are_edited_and_an_unfinished_run_cannot_be_deleted(visitor: Client, run: Run):
    visitor.post(f"/runs/{run.pk}/edit/", {"name": "renamed", "note": "a note"})
    run.refresh_from_db()
    assert (run.name, run.note) == ("renamed", "a note")
    assert visitor.post(f"/runs/{run.pk}/delete/").status_code == 409
    visitor.post(f"/runs/{run.pk}/cancel/")
    visitor.post(f"/runs/{run.pk}/delete/")
    assert not Run.objects.exists()


def test_a_run_that_waits_for_its_machine_says_so(visitor: Client, run: Run):
    counts = {"asked": 10, "settled": 6, "unsettled": 2, "contended": 1, "failed": 1}
    working(run, phase(1), ("experiments", counts), waiting("waiting for lab: it is offline"))
    page = visitor.get(f"/runs/{run.pk}/").text
    assert "Waiting for lab: it is offline" in page
    assert "6 of 10" in page
    assert not re.search(r'data-count="(unsettled|contended|failed)"[^>]* hidden', page)


def test_a_bottleneck_that_is_measured_is_no_missing_one(isa: ISA):
    facts = {"cpu": "x", "flags": []}
    machine = Machine.objects.create(name="lab", kind="agent", isa=isa, state="idle", facts=facts)

    def said(run: Run) -> str:
        return next(item.text for item in config_lines(run) if item.label == "R_max")

    measured = submit("infer", {"source": {"machine": machine.pk}, "ports": 3}, "measures it")
    assert said(measured) == "measured"
    measured.state = Run.State.DONE
    for r_max, words in ((4.0, "measured: 4"), (None, "measured: none beside the ports")):
        PortMapping.objects.all().delete()
        PortMapping.objects.create(
            name="m", isa=isa, ports=[], run=measured, report={"bottleneck": {"r_max": r_max}}
        )
        assert said(measured) == words
    config = {"source": {"machine": machine.pk}, "ports": 3, "bottleneck": False}
    assert said(submit("infer", config, "does not")) == "as the data show it"
    assert said(submit("infer", {**config, "settings": {"ceiling": "none"}}, "has none")) == "none"


def test_an_address_to_tell_when_the_run_ends_is_set_on_its_page(visitor: Client, run: Run) -> None:
    page = f"/runs/{run.pk}/"
    answer = visitor.post(f"{page}webhook/", {"url": "https://chat.example.org/hooks/s3cret"}, follow=True)
    shown = answer.content.decode()
    assert "https://chat.example.org/… will be called when the run ends." in shown
    assert "s3cret" not in shown
    refused = visitor.post(f"{page}webhook/", {"url": "file:///etc/passwd"}, follow=True).content.decode()
    assert "not an address to send to" in refused
    assert run.webhooks.get().url.endswith("s3cret")


def test_a_run_that_has_ended_is_to_be_had_as_a_zip(visitor: Client, run: Run) -> None:
    address = f"/runs/{run.pk}/archive/"
    assert address not in visitor.get(f"/runs/{run.pk}/").content.decode()
    early = visitor.get(address, follow=True)
    assert "has not ended" in early.content.decode()
    visitor.post(f"/runs/{run.pk}/cancel/")
    assert address in visitor.get(f"/runs/{run.pk}/").content.decode()
    taken = visitor.get(address)
    assert taken["Content-Type"] == "application/zip"
    assert taken.content.startswith(b"PK")
    upload = Upload.objects.create(file_name="run.zip", beginning=taken.content, sha256="0" * 64)
    read_uploads()
    preview = visitor.get(f"/uploads/{upload.pk}/", follow=True)
    assert preview.redirect_chain == [(f"/uploads/{upload.pk}/run/", 302)]
    assert "3 measurements" in preview.content.decode()
    started = visitor.post(f"/uploads/{upload.pk}/run/", follow=True)
    assert Run.objects.get(kind="import").name in started.content.decode()


def test_before_there_is_a_mapping_the_page_shows_what_was_measured(
    visitor: Client, run: Run, experiment_set: ExperimentSet
):
    page = f"/runs/{run.pk}/"
    assert visitor.get(page).context["matrix"] is None
    ExperimentSet.objects.filter(pk=experiment_set.pk).update(run=run)
    lease = working(run)
    matrix = visitor.get(page).context["matrix"]
    assert (matrix.schemes, matrix.pairs) == (1, 0)
    append(lease, [PICTURE])
    assert visitor.get(page).context["matrix"] is None
