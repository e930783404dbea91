"""Every kind of runs: its zip is offered and imports, or it is offered nowhere."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from django.test import Client

from inference.features.running.runs import pages
from inference.features.running.runs.archive import RunArchives, archive_of, store_archive
from inference.features.running.runs.kind_presentation import archived_kinds
from inference.formats.problems import ExchangeError
from inference.formats.run_archive_reading import read_archive
from inference.models import Run
from inference.runs.kinds import RUN_KINDS
from inference.storage.run_archive_writing import write_archive

pytestmark = pytest.mark.django_db
WITH_ISA = {"check-model", "infer", "measure"}
"""Kinds whose stored descriptions name the instruction set."""
DOCUMENTATION = Path(__file__).parents[3] / "docs" / "formats.md"
IMPORTED = {"block", "check-model", "evaluate", "import", "infer", "measure"}


@pytest.fixture(params=sorted(RUN_KINDS))
def ended(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run of each kind that has ended without a result, of which the rows are gone.

    Its description lacks the defaults, so that it is not put in words.
    """
    monkeypatch.setattr(pages, "config_lines", lambda run: [])
    kind = RUN_KINDS[request.param]
    stored = {"isa": "toy"} if kind.name in WITH_ISA else {}
    config = {**kind.example, **stored}
    return Run.objects.create(name=kind.label, kind=kind.name, config=config, state=Run.State.CANCELLED)


def test_the_kinds_that_import_are_those_of_the_documentation() -> None:
    assert set(archived_kinds()) == IMPORTED
    (sentence,) = re.findall(r"Runs of the\s+kinds (.*) have an archive\.", DOCUMENTATION.read_text())
    assert set(re.findall(r"`([a-z-]+)`", sentence)) == IMPORTED


def test_a_zip_is_offered_where_it_imports_and_nowhere_else(ended: Run, visitor: Client) -> None:
    offered = f"/runs/{ended.pk}/archive/" in visitor.get(f"/runs/{ended.pk}/").content.decode()
    assert offered == (ended.kind in IMPORTED)
    answer = visitor.get(f"/runs/{ended.pk}/archive/")
    through_api = visitor.get(f"/api/v1/runs/{ended.pk}/archive")
    if offered:
        assert answer.content == through_api.content
        assert store_archive(read_archive(answer.content), "run.zip").kind == ended.kind
        return
    assert answer.status_code == 302
    assert through_api.status_code == 409
    assert f"runs of the kind {ended.kind!r} have no archive that imports" in through_api.json()["detail"]
    with pytest.raises(ExchangeError, match="have no archive that imports"):
        archive_of(ended)


def test_the_preview_accepts_what_imports_and_nothing_else(ended: Run) -> None:
    content = write_archive(ended)
    assert RunArchives().reads(io.BytesIO(content))
    if ended.kind in IMPORTED:
        assert RunArchives().read(io.BytesIO(content), "run.zip", {})["kind"] == ended.kind
        return
    with pytest.raises(ExchangeError, match=f"the kind '{ended.kind}'"):
        RunArchives().read(io.BytesIO(content), "run.zip", {})
