"""Tags that say how good numbers are, and why tools fail or are missing."""

from __future__ import annotations

from typing import Any

import pytest
from django.template import Context, Template

from inference.core.judging.accuracy import AccuracyJudgement, Grade, OtherCore, grade_order, verdict_summary
from inference.core.metrics import Scores
from inference.predictors.protocol import own_error
from inference.web.presentation import missing


def drawn(text: str, **context: Any) -> str:
    return " ".join(Template(text).render(Context(context)).split())


def test_scores_have_a_badge_with_their_reasons() -> None:
    text = drawn("{% verdict scores 'blocks' %}", scores=Scores(400, 12.74, 0.9, 0.75))
    assert "grade-usable" in text
    assert "Off by 12.7 % on average, on 400 blocks" in text


def test_scores_as_a_run_stores_them_are_judged_too() -> None:
    scores = {"n": 400, "mape": 2.0, "pearson": 1.0, "kendall": 0.95, "name": "a tool"}
    assert "grade-good" in drawn("{% verdict scores %}", scores=scores)


@pytest.mark.parametrize("subject", [None, {}, {"n": 0, "mape": None}, Scores(0, None, None, None)])
def test_what_has_no_scores_has_no_badge(subject: object) -> None:
    assert drawn("{% verdict subject %}", subject=subject) == ""


def test_another_core_is_named_beside_the_badge() -> None:
    text = drawn("{% verdict other %}", other=OtherCore("Zen 5", "Zen 4"))
    assert "not-judged" in text
    assert "grade-" not in text
    assert "measurements of another core (Zen 5)" in text


def test_good_predictors_come_first_and_those_not_judged_last() -> None:
    good, wrong = AccuracyJudgement(Grade.GOOD, ()), AccuracyJudgement(Grade.WRONG, ())
    other = OtherCore("Zen 5", "Zen 4")
    verdicts: list[tuple[AccuracyJudgement | OtherCore, float | None]]
    verdicts = [(wrong, 80.0), (other, 1.0), (good, 3.0), (good, 2.0), (wrong, None)]
    ordered = sorted(verdicts, key=lambda row: grade_order(row[0], row[1]))
    assert ordered == [(good, 2.0), (good, 3.0), (wrong, 80.0), (wrong, None), (other, 1.0)]
    assert verdict_summary([good], "column") == "The only column is good."
    assert verdict_summary([]) == ""


def test_what_a_tool_printed_is_folded_behind_a_sentence() -> None:
    detail = own_error("OSACA", "Traceback (most recent call last):\n  File\nKeyError: '<b>'")
    text = drawn("{{ detail|with_message }}", detail=detail)
    assert text.startswith("OSACA failed on this block with an error of its own (KeyError)<details")
    assert "<code>KeyError: &#x27;&lt;b&gt;&#x27;</code>" in text
    assert drawn("{{ detail|with_message }}", detail="not done in its time") == "not done in its time"


@pytest.mark.parametrize(
    ("reason", "command"),
    [
        ("OSACA is not installed here: pipx install osaca, or name its Python", "pipx install osaca"),
        ("uiCA is not here: git clone https://x.org/u /opt/u && cd /opt/u && ./s.sh, or install it",
         "git clone https://x.org/u /opt/u && cd /opt/u && ./s.sh"),
        ("apt install llvm", "apt install llvm"),
        ("download MAQAO from www.maqao.org", ""),
    ],
)  # fmt: skip
def test_the_command_that_installs_a_tool_is_copied_alone(reason: str, command: str) -> None:
    assert missing(reason, "field")["command"] == command
