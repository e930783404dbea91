"""Hybrid processors: what the kernel says of them, told by trees like its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from inference.agent.core_types import (
    core_types,
    cpu_list,
    description,
    fastest,
    notice,
    parse_cpu_list,
    type_of,
)


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    return root


@pytest.fixture
def alder_lake(tmp_path: Path) -> Path:
    return tree(tmp_path, {"cpu_core/cpus": "0-15", "cpu_atom/cpus": "16-23"})


def arm(root: Path, capacities: list[int], parts: list[str] | None = None) -> Path:
    files = {"system/cpu/online": f"0-{len(capacities) - 1}"}
    for cpu, capacity in enumerate(capacities):
        files[f"system/cpu/cpu{cpu}/cpu_capacity"] = str(capacity)
        if parts is not None:
            files[f"system/cpu/cpu{cpu}/regs/identification/midr_el1"] = parts[cpu]
    return tree(root, files)


def test_intels_kinds_come_fastest_first(alder_lake: Path):
    fast, slow = core_types(alder_lake)
    assert (fast.name, fast.cpus) == ("performance", frozenset(range(16)))
    assert (slow.name, slow.cpus) == ("efficient", frozenset(range(16, 24)))


def test_the_measuring_core_picks_its_kind_and_the_facts_name_the_other(alder_lake: Path):
    types = core_types(alder_lake)
    assert description(20, types) == {
        "core_type": "efficient",
        "core_cpus": "16-23",
        "other_cores": {"performance": "0-15"},
    }
    assert type_of(0, types) == types[0]
    assert "start an agent for it with --core 23" in notice(3, types)


def test_the_fast_cores_are_taken_as_long_as_one_may_be_used(alder_lake: Path):
    types = core_types(alder_lake)
    assert fastest({3, 5, 20}, types) == {3, 5}
    assert fastest({20, 21}, types) == {20, 21}
    assert fastest({1, 2}, ()) == {1, 2}


def test_arm_cores_are_told_apart_by_their_part(tmp_path: Path):
    a53, a72 = "0x00000000410fd034", "0x00000000410fd083"
    types = core_types(arm(tmp_path, [400, 400, 1024], [a53, a53, a72]))
    assert [(each.name, cpu_list(each.cpus)) for each in types] == [
        ("part-0xd08", "2"),
        ("part-0xd03", "0-1"),
    ]


def test_a_part_that_runs_at_two_speeds_is_one_kind(tmp_path: Path):
    a78 = "0x00000000411fd410"
    assert core_types(arm(tmp_path, [800, 1024], [a78, "0x00000000412fd411"])) == ()


def test_without_parts_capacities_tell(tmp_path: Path):
    types = core_types(arm(tmp_path, [446, 446, 1024, 1024]))
    assert [each.name for each in types] == ["capacity-1024", "capacity-446"]


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"cpu_core/cpus": "0-7"},
        {"cpu_core/cpus": "0-7", "cpu_atom/cpus": ""},
        {"cpu_core/cpus": "0-7", "cpu_atom/cpus": "nonsense"},
        {"system/cpu/online": "0-3"},
    ],
)
def test_where_all_cores_are_alike_nothing_is_said(tmp_path: Path, files: dict[str, str]):
    types = core_types(tree(tmp_path, files))
    assert types == ()
    assert (description(0, types), notice(0, types)) == ({}, "")


def test_kernel_lists_are_read_and_written():
    assert parse_cpu_list("0-3,8,10-11") == {0, 1, 2, 3, 8, 10, 11}
    assert cpu_list({0, 1, 2, 3, 8, 10, 11}) == "0-3,8,10-11"
