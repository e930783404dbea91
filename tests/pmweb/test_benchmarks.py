"""`python -m benchmarks` itself; what the benchmarks measure is not tested."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from django.conf import settings

from benchmarks import Result, walks
from benchmarks.__main__ import names
from benchmarks._site_pages import EXEMPT, SPECIAL_PAGES, is_exempt, pages
from pmweb.permissions.table import TABLE


def benchmark(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_result_is_one_json_object_with_the_fields_that_scripts_rely_on():
    line = Result("case", 3.0, "s", reference=2.0, more={"seed": 1}).as_json("name")
    assert json.loads(json.dumps(line)) == {
        "name": "name",
        "case": "case",
        "value": 3.0,
        "unit": "s",
        "reference": 2.0,
        "ratio": 1.5,
        "seed": 1,
    }


def test_a_result_without_a_reference_has_no_ratio():
    assert Result("case", 3.0, "s").as_json("name")["ratio"] is None


def test_an_unknown_name_is_refused_with_the_names_there_are():
    answer = benchmark("no-such-benchmark")
    assert answer.returncode == 2
    for name in names():
        assert name in answer.stderr


@pytest.mark.parametrize("name", names())
def test_every_benchmark_is_described_in_the_list(name):
    assert f"`{name}`" in (settings.BASE_DIR / "benchmarks" / "README.md").read_text()


def test_every_page_of_the_site_is_measured_or_named_as_none():
    measured = pages()
    unmeasured = [name for name, rule in TABLE.items() if name not in measured and not is_exempt(name, rule)]
    assert unmeasured == [], "say in benchmarks/_site_pages.py what its number is of, or why it is no page"
    assert [name for name in (*SPECIAL_PAGES, *EXEMPT) if name not in TABLE] == []
    assert [name for name in SPECIAL_PAGES if is_exempt(name, TABLE[name])] == []


def test_a_file_counts_when_its_functions_run_not_when_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "class Made:\n    pass\n\n\nKNOWN = {name for name in 'ab'}\n\n\ndef walked():\n    return KNOWN\n"
    (tmp_path / "walked_module.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(walks, "_OURS", (f"{tmp_path}/",))
    assert walks._files_of(lambda: import_module("walked_module")) == set()
    assert walks._files_of(lambda: import_module("walked_module").walked()) == {
        f"{tmp_path}/walked_module.py"
    }
