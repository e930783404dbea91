"""What features register for when it is needed: each function imports something that is there."""

from __future__ import annotations

import io
import subprocess
import sys
from collections import Counter
from dataclasses import fields
from io import BytesIO
from itertools import chain
from pathlib import Path
from types import ModuleType

import pytest

from anica_app.features import FEATURES as ANICA_FEATURES
from inference.features import FEATURES, REGISTRIES
from inference.features.running.runs import kind_presentation
from inference.features.running.runs.kind_presentation import KindPresentation, presentation_of
from inference.formats import journal_events, other_formats
from inference.formats.problems import ExchangeError
from inference.models import Run
from inference.runs.errors import ConfigError
from inference.runs.kinds import RUN_KINDS, job
from inference.web import contributions

START = """
import sys, django
django.setup()
print(*{"iced_x86", "ninja", "numba", "plotly", "scipy", "z3"} & set(sys.modules))
features = (name for name in sys.modules if ".features." in name)
print(*(name for name in features if name.endswith(("job", "pages", "api", "query"))))
"""


@pytest.mark.parametrize("feature", [*FEATURES, *ANICA_FEATURES], ids=lambda feature: feature.__name__)
def test_each_constant_of_a_feature_is_registered(feature: ModuleType) -> None:
    constants = {name for name in vars(feature) if name.isupper() and not name.startswith("_")}
    assert constants - {"TYPE_CHECKING"} <= REGISTRIES.keys() | {"KINDS"}


@pytest.mark.parametrize("kind", sorted(RUN_KINDS))
def test_whatever_a_kind_of_run_imports_is_there(kind: str) -> None:
    job_of_kind = job(kind)
    assert all(callable(getattr(job_of_kind, name)) for name in ("check", "submitted", "work"))
    assert isinstance(RUN_KINDS[kind].partial_result(Run(kind=kind)), str)
    RUN_KINDS[kind].load()
    presentation = presentation_of(kind)
    parts = [getattr(presentation, field.name) for field in fields(presentation)]
    assert all(callable(part) for part in parts if part is not None)


def test_pages_are_those_of_kinds_that_there_are() -> None:
    assert presentation_of("guess") == KindPresentation()
    assert kind_presentation._LOADERS.keys() <= RUN_KINDS.keys()
    modules = list(chain.from_iterable(load() for load in contributions.PAGE_MODULES))
    presented = chain.from_iterable(getattr(module, "PRESENTATIONS", {}) for module in modules)
    assert {kind for kind in RUN_KINDS if presentation_of(kind) != KindPresentation()} == set(presented)
    assert set(kind_presentation.archived_kinds()) == {
        "block",
        "check-model",
        "evaluate",
        "import",
        "infer",
        "measure",
    }


def test_an_unknown_kind_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r"there are accuracy, .*infer, "):
        job("guess")


@pytest.mark.django_db
def test_whatever_reads_and_writes_files_is_there() -> None:
    assert len(other_formats.importers()) == 4
    assert set(other_formats.written_kinds()) == {"run", "block-set", "campaign"}
    for kind in other_formats.written_kinds():
        with pytest.raises(ExchangeError, match="nothing"):
            other_formats.writer_of(kind)("nothing", BytesIO())


@pytest.mark.parametrize("name", ["experiment-csv.csv", "mapping-json.json", "explained-rejects.json"])
def test_a_file_of_a_format_with_a_signature_loads_no_other_importer(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load() -> other_formats.Importer:
        raise AssertionError("an importer is loaded for a file that it cannot read")

    entries = [other_formats.ImporterEntry(entry.pattern, load) for entry in other_formats._ENTRIES]
    monkeypatch.setattr(other_formats, "_ENTRIES", entries)
    content = (Path(__file__).parents[1] / "formats" / "golden" / name).read_bytes()
    assert other_formats.importer_of_file(io.BytesIO(content)) is None


def test_whatever_routes_requests_and_shows_events_is_there() -> None:
    headings = Counter(heading for _, heading in contributions.routers())
    assert "" not in headings
    assert headings["Port mappings"] > 1
    assert {"phase", "block", "generation", "batch", "model_alone"} <= journal_events.kinds().keys()


def test_a_command_starts_without_what_only_runs_pages_and_files_need() -> None:
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
