"""The kinds of runs, imported when they are needed."""

from __future__ import annotations

import pytest
from django.utils.module_loading import import_string

from inference.runs.errors import ConfigError
from inference.runs.kinds import job, kinds


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_whatever_a_kind_names_is_there(kind: str):
    told = kinds()[kind]
    job_of_kind = import_string(told.job)()
    assert all(callable(getattr(job_of_kind, name)) for name in ("check", "submitted", "work"))
    for path in filter(None, (told.words, told.outcomes, told.page, told.archived)):
        assert callable(import_string(path))


def test_an_unknown_kind_is_refused_with_those_there_are():
    with pytest.raises(ConfigError, match=r"there are accuracy, .*infer, "):
        job("guess")
