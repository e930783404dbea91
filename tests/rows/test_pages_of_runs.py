"""Each run that tests start from can be shown, as one that the site has done."""

from __future__ import annotations

import inspect

import pytest
from django.test import Client
from django.urls import reverse

from inference.features.running.runs.kind_presentation import outcomes_of
from inference.models import Run
from tests.rows import shared

FIXTURES = [
    name
    for name in shared.__all__
    if inspect.unwrap(getattr(shared, name)).__module__.startswith("tests.rows")
]


@pytest.mark.parametrize("fixture", FIXTURES)
def test_the_runs_of_a_fixture_have_pages(
    fixture: str, visitor: Client, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(fixture)
    runs = list(Run.objects.all())
    assert len(runs) > 8 or fixture != "world", "fixtures with runs are among these"
    outcomes = [outcome.url for outcome in outcomes_of(runs).values()]
    for address in [*(reverse("run", args=[run.pk]) for run in runs), *outcomes]:
        assert visitor.get(address).status_code == 200, address
