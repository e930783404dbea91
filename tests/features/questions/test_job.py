"""Several predictors asked side by side: answers, failures, faults of the program, and the run that asks."""

from __future__ import annotations

import threading

import pytest

from inference.core.errors import MeasuringError
from inference.features.asking.questions import job
from inference.features.asking.questions.events import PredictorAnswered
from inference.features.asking.questions.job import ask
from inference.features.asking.questions.query import KIND, answers_to, reports_of
from inference.isa.blocks import BlockName
from inference.models import Predictor
from inference.predictors.protocol import Answer, Failure, PredictorError
from inference.runs import kinds
from tests.runs.agents import attempt, do
from tests.runs.fixtures import payloads

pytestmark = pytest.mark.django_db

ADD = bytes.fromhex("4801d8")
KINDS = [
    Answer(cycles=1.5),
    *(Answer(failure=failure, detail=f"it said {failure}") for failure in Failure),
]


class Tool:
    """Answers with what it was made from, an answer or an error, as soon as it may."""

    def __init__(self, says: object, after: threading.Event | None = None) -> None:
        self._says = says
        self._after = after

    def predict(self, blocks):
        if self._after is not None:
            assert self._after.wait(60)
        if isinstance(self._says, Exception):
            raise self._says
        return [self._says for _ in blocks]

    def close(self):
        pass


@pytest.fixture
def plant(monkeypatch):
    """Stores predictors by what they say; an error of theirs comes when they are opened or asked."""
    tools: dict[str, object] = {}

    def open_planted(row, task=None, *, isa, use_cache=True):
        found = tools[row.name]
        if isinstance(found, PredictorError):
            raise found
        return found

    monkeypatch.setattr(job, "open_predictor", open_planted)

    def planted(**named) -> list[Predictor]:
        tools.update(named)
        return [
            Predictor.objects.create(name=name, kind="planted", key=name.ljust(64, "0")) for name in named
        ]

    return planted


def test_columns_come_as_soon_as_they_are_there_whoever_was_asked_first(plant):
    seen = threading.Event()
    rows = plant(slow=Tool(Answer(cycles=2.0), after=seen), quick=Tool(Answer(cycles=1.0)))
    columns = ask(rows, [ADD], isa="x86-64")
    assert next(columns).predictor.name == "quick"
    seen.set()
    assert [column.predictor.name for column in columns] == ["slow"]


def test_one_that_cannot_work_says_why_in_its_column(plant):
    rows = plant(
        gone=PredictorError("its program is gone"),
        away=Tool(MeasuringError("the agent left")),
        broken=Tool(PredictorError("no number even for add")),
        fine=Tool(Answer(cycles=1.0)),
    )
    told = {column.predictor.name: column for column in ask(rows, [ADD], isa="x86-64")}
    errors = {name: column.error for name, column in told.items()}
    assert errors == {
        "gone": "its program is gone",
        "away": "the agent left",
        "broken": "no number even for add",
        "fine": "",
    }
    assert told["fine"].answers == [Answer(cycles=1.0)]


def test_a_fault_of_the_program_is_raised_with_its_trace(plant):
    rows = plant(faulty=Tool(ZeroDivisionError("of ours")))
    with pytest.raises(ZeroDivisionError, match="of ours") as caught:
        list(ask(rows, [ADD], isa="x86-64"))
    assert caught.traceback[-1].name == "predict"


def test_a_run_tells_every_kind_of_answer_with_what_the_tool_said(plant):
    rows = plant(**{f"tool{number}": Tool(says) for number, says in enumerate(KINDS)})
    run = do(KIND, {"predictors": [row.pk for row in rows], "blocks": [ADD.hex()]})
    assert run.state == "done", run.error
    lines = answers_to({row.pk: row for row in rows}, reports_of(run), BlockName("x86-64", ADD))
    assert [line.answer for line in lines] == KINDS
    assert payloads(run, "progress")[-1]["done"] == len(KINDS)
    assert payloads(run, "result")[-1]["name"] == run.name  # which the run's page tells
    assert len(payloads(run, PredictorAnswered.kind)) == len(KINDS)


def test_a_fault_of_the_program_fails_the_run_and_a_deleted_predictor_does_not(plant):
    rows = plant(gone=Tool(Answer(cycles=1.0)), fine=Tool(Answer(cycles=1.0)))
    from inference.runs import lifecycle

    run = lifecycle.submit(KIND, {"predictors": [row.pk for row in rows], "blocks": ["90"]}, "a question")
    gone = rows[0].pk
    rows[0].delete()
    attempt(run)
    assert run.state == "done", run.error
    assert reports_of(run)[gone].error == "it has been deleted"
    failed = do(KIND, {"predictors": [row.pk for row in plant(bad=Tool(KeyError("x")))], "blocks": ["90"]})
    assert failed.state == "failed"
    assert "KeyError" in failed.error
    assert "in predict" in failed.error


def test_questions_and_explanations_do_not_wait_behind_imports_nor_these_behind_an_agent_that_is_away():
    lanes = {kind: lane for lane in kinds.queues() for kind in lane.kinds}
    assert lanes["generalise"] == lanes["ask"]
    assert lanes["ask"] not in (lanes["import"], lanes["infer"], lanes["measure"])


def test_numbers_are_compared_with_what_a_machine_measured(plant):
    rows = plant(tool=Tool(Answer(cycles=3.0)), machine=Tool(Answer(cycles=2.0)))
    Predictor.objects.filter(name="machine").update(kind="machine")
    run = do(KIND, {"predictors": [row.pk for row in rows], "blocks": [ADD.hex()]})
    known = {row.pk: row for row in Predictor.objects.order_by("pk")}
    tool, measured = answers_to(known, reports_of(run), BlockName("x86-64", ADD))
    assert (tool.percent_off_measured, tool.percent_of_largest) == (50.0, 100.0)
    assert (measured.percent_off_measured, round(measured.percent_of_largest or 0)) == (None, 67)
