"""The report of how LLVM's model differs from a mapping: its order, its words, its way through JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from inference.features.judging.findings.llvm_job import (
    DifferingScheme,
    LlvmDifference,
    by_factor,
    is_notable,
    markdown,
    witness_lines,
)

GOLDEN = Path(__file__).parent / "golden_llvm_difference.md"


def differing(**changes: Any) -> DifferingScheme:
    facts: dict[str, Any] = {
        "scheme": "add GPR[64]:RW, GPR[64]:R",
        "pk": 1,
        "text": "addq %rax, %rbx",
        "measured": 0.25,
        "predicted": 0.25,
        "usage": "1×[0,1,5,6]",
        "masks": [[15, 1]],
        "uops": 1,
        "llvm": 0.5,
        "llvm_uops": 2.0,
        "pressure": [["Port|0", 0.5], ["Port1", 0.5]],
        "command": "printf '%s\\n' 'addq %rax, %rbx' | llvm-mca-19 -mcpu=haswell -json",
    }
    return DifferingScheme(**{**facts, **changes})


REPORT = LlvmDifference(
    mapping="Toy\n`mapping`",
    tool="llvm-mca 19.1, -mcpu=haswell",
    release="19",
    cpu="haswell",
    tolerance=0.2,
    asked=10,
    within=6,
    differing=[
        differing(evidence=["Witness: 12 × b on [0,1] take 6.000 cycles"], doubts=["counted\n2 µops"]),
        differing(scheme="x", measured=None, predicted=1.0, llvm=0.25, pressure=[]),
    ],
    unknown=[["y", "its model lacks it"], ["z", "unknown bytes"]],
    head=["made by: pmweb", "cite: Somebody: Toys."],
)


def test_the_report_is_what_it_was() -> None:
    assert markdown(REPORT) == GOLDEN.read_text(encoding="utf-8")


def test_a_report_is_the_same_after_its_way_through_json() -> None:
    again = LlvmDifference.of(json.loads(json.dumps(REPORT.as_json())))
    assert markdown(again) == markdown(REPORT)
    assert (again.slower, again.quicker, again.percent) == (1, 1, 20)


def test_no_text_of_a_file_breaks_the_table_or_ends_the_code() -> None:
    text = markdown(REPORT)
    assert "Port\\|0" in text
    assert "“Toy `mapping`”" in text
    assert "- Doubt: counted 2 µops" in text


def test_many_schemes_without_an_answer_are_counted() -> None:
    many = LlvmDifference.of({**REPORT.as_json(), "unknown": [[f"s{k}", "no"] for k in range(100)]})
    assert "- and 60 more" in markdown(many)


@pytest.mark.parametrize(
    ("llvm", "reference", "notable"),
    [(1.2, 1.0, False), (1.21, 1.0, True), (0.79, 1.0, True), (0.0, 0.0, False)],
)
def test_a_difference_counts_from_the_tolerance_on(llvm: float, reference: float, notable: bool) -> None:
    assert is_notable(llvm, reference, 0.2) is notable


def test_the_largest_factor_comes_first_whichever_way_it_goes() -> None:
    rows = [differing(scheme=str(k), llvm=llvm) for k, llvm in enumerate((0.3, 0.05, 1.0, 0.0))]
    assert [row.scheme for row in by_factor(rows)] == ["3", "1", "2", "0"]
    assert rows[1].verdict == "too fast by a factor of 5"
    assert rows[2].verdict == "too slow by a factor of 4"
    assert differing(measured=0.0).factor == math.inf


def step(base: float | None = 4.0, cycles: float | None = 5.0) -> SimpleNamespace:
    witness = SimpleNamespace(copies=4, blocker="nop", base_cycles=base, cycles=cycles)
    return SimpleNamespace(witness=witness, where="[0,1]", conclusion="one µop on [0,1]")


def test_witnesses_are_told_with_their_cycles_and_many_of_them_counted() -> None:
    line = "Witness: 4 × nop on [0,1] take 4.000 cycles, with add beside them 5.000 cycles: one µop on [0,1]"
    assert witness_lines("add", []) == []
    assert witness_lines("add", [step()] * 4) == [line] * 4
    assert witness_lines("add", [step()] * 6) == [*[line] * 4, "and 2 more"]
    (unusable,) = witness_lines("add", [step(None, 0.0)])
    assert "take an unsettled number of cycles, with add beside them 0.000 cycles: " in unusable
