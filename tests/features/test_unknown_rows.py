"""Commands that are given the name of a row that is not there."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError


@pytest.mark.parametrize(
    "arguments",
    [
        ("front_end", "--machine", "nowhere"),
        ("front_end", "--show", "nowhere"),
        ("scheduler", "nowhere", "--show"),
        ("latencies", "--machine", "nowhere"),
        ("know", "--machine", "nowhere"),
        ("check-model", "--machine", "nowhere"),
        ("measure", "--machine", "nowhere", "--plan", "singletons"),
        ("conflicts", "nowhere"),
        ("doubts", "nowhere"),
        ("excess", "nowhere", "--dataset", "nowhere"),
        ("congruence", "nowhere"),
        ("families", "nowhere"),
    ],
    ids=" ".join,
)
def test_a_name_that_no_row_has_is_told_without_a_traceback(db: None, arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError, match="there is no"):
        call_command(*arguments)
