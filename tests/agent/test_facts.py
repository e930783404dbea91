"""What an agent tells of its computer."""

from __future__ import annotations

from pathlib import Path

import pytest

from inference.agent import facts


@pytest.mark.parametrize(
    ("files", "turbo"),
    [
        ({"intel_pstate/no_turbo": "1"}, False),
        ({"intel_pstate/no_turbo": "0", "cpufreq/boost": "0"}, True),
        ({"cpufreq/boost": "1"}, True),
        ({"cpufreq/boost": "0"}, False),
        ({}, None),
    ],
)
def test_whether_the_clock_may_rise_is_read_where_the_driver_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], turbo: bool | None
):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    monkeypatch.setattr(facts, "_CPUS", tmp_path)
    assert facts._turbo() is turbo
