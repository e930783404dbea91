"""The kinds of runs, imported when they are needed."""

from __future__ import annotations

import pytest
from django.utils.module_loading import import_string

from inference.runs.errors import ConfigError
from inference.runs.kinds import JOBS, Deferred, job


@pytest.mark.parametrize("kind", sorted(JOBS))
def test_what_is_said_of_a_job_before_it_is_imported_is_true(kind: str):
    deferred = JOBS[kind]
    assert isinstance(deferred, Deferred)
    assert import_string(deferred.path)().short == deferred.short


def test_an_unknown_kind_is_refused_with_those_there_are():
    with pytest.raises(ConfigError, match="there are infer, measure"):
        job("guess")
