"""What the journal of a run folds into."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from inference.core.events import Progress
from inference.core.protocols import Json
from inference.features.learning.inferring.pmevo_page import CURVE_POINTS
from inference.features.running.runs.record import fold, thinned
from tests.features.runs.entries import generation, phase, waiting

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


def events(*entries: tuple[str, Json]) -> list[Json]:
    """A journal with one event per second."""
    return [
        {"seq": seq, "kind": kind, "payload": payload, "at": (START + timedelta(seconds=seq)).isoformat()}
        for seq, (kind, payload) in enumerate(entries, start=1)
    ]


def test_the_record_knows_how_long_every_stage_took():
    record = fold(events(phase(1), phase(2), generation(0), ("state", {"state": "done"})))
    assert [(stage.state, stage.seconds) for stage in record.phases] == [("done", 1.0), ("done", 2.0)]
    assert record.seq == 4


def test_a_stage_that_is_still_to_come_has_its_place_already():
    record = fold(events(phase(1)))
    assert [(stage.index, stage.state) for stage in record.phases] == [(1, "current"), (2, "")]


def test_a_stage_stops_where_the_run_failed_and_goes_on_after_a_resume():
    stopped = fold(events(phase(1), ("state", {"state": "failed", "error": "no data"})))
    assert stopped.phases[0].state == "stopped"
    assert stopped.log[-1]["text"] == "failed: no data"
    resumed = fold(events(phase(1), ("state", {"state": "paused"}), ("state", {"state": "running"})))
    assert resumed.phases[0].state == "current"
    assert resumed.phases[0].seconds is None


def test_generations_told_again_after_a_resume_replace_the_first_telling():
    told = (generation(0), generation(1), generation(2, 0.4), generation(1), generation(2, 0.3))
    record = fold(events(*told))
    assert [point.generation for point in record.parts["evolution"].generations] == [0, 1, 2]
    assert record.parts["evolution"].generations[-1].best_error == 0.3


def test_a_long_curve_is_thinned_to_its_ends_and_an_even_choice_between():
    points = list(range(10 * CURVE_POINTS))
    chosen = thinned(points, CURVE_POINTS)
    assert len(chosen) == CURVE_POINTS
    assert (chosen[0], chosen[-1]) == (points[0], points[-1])
    assert max(b - a for a, b in pairwise(chosen)) <= 11


def test_a_stage_begins_without_the_progress_of_the_one_before():
    full: tuple[str, Json] = Progress("measuring", 9, 9, 0.0, "", 0.0).entry
    record = fold(events(phase(1), full, phase(2)))
    assert (record.progress, record.stage) == (None, "Stage of evolution")


def test_the_log_tells_stages_classes_and_where_the_result_is():
    told: tuple[tuple[str, Json], ...] = (
        phase(1),
        ("congruence", {"schemes": 9, "classes": 3}),
        ("result", {"name": "a mapping"}),
        ("state", {"state": "done"}),
    )
    log = fold(events(*told)).log
    assert [line["text"] for line in log] == [
        "stage 1 of 2: Stage of measuring",
        "9 schemes in 3 classes of equal behaviour",
        "result: a mapping",
        "done",
    ]
    assert log[2]["result"]


def test_the_record_knows_why_a_run_waits_until_it_goes_on():
    waits = waiting("waiting for lab: it is disturbed")
    assert fold(events(phase(1), waits)).waiting == "waiting for lab: it is disturbed"
    for end in (waiting(""), phase(2), ("state", {"state": "paused"})):
        assert fold(events(phase(1), waits, end)).waiting == ""
