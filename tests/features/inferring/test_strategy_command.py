"""`manage.py check-strategy`: a pair of mappings that look alike, or that there is none."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("check-strategy", *arguments, stdout=out)
    return out.getvalue()


def test_pairs_do_not_tell_overlapping_from_separate_ports() -> None:
    told = run("--ports", "3", "--uops", "1,1,1")
    assert "with equal times" in told
    found = json.loads(run("--ports", "3", "--uops", "1,1,1", "--json"))
    assert found["cycles"][0] != found["cycles"][1]
    assert found["told_by"] in told


def test_two_ports_hide_nothing_from_pairs() -> None:
    assert run("--ports", "2", "--uops", "1,1").startswith("None")
    assert json.loads(run("--ports", "2", "--uops", "1,1", "--json")) is None


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--ports", "9", "--uops", "2,2,2"), "too many"),
        (("--ports", "0", "--uops", "1"), "ports"),
        (("--ports", "3", "--uops", "1,x"), "whole numbers"),
    ],
)
def test_what_cannot_be_checked_is_said(arguments: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint):
        run(*arguments)
