"""An accuracy check from start to end: what is measured, who is asked, and what is found."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from inference.core.judging.residual_traits import memory_traits
from inference.core.judging.sheet import AnswerSheet, Grouping, ItemKind, Items
from inference.features.asking.predictors.query import predictor_row
from inference.features.judging.accuracy_checks.query import check_of, check_of_sheet, error_of
from inference.features.judging.accuracy_checks.request import default_predictors
from inference.features.judging.column_accuracy.accuracy import accuracy_of
from inference.features.judging.engine.judge_jobs import (
    core_model_of_machine,
    first_core_model,
    largest_bounds,
)
from inference.features.judging.engine.new_blocks import median_answers, sampled_blocks
from inference.features.judging.engine.query import (
    FULL_COMPARISON,
    columns_of,
    comparison_rows,
    items_in_bin,
    verdict_of,
)
from inference.features.judging.engine.request import QuestionLimits
from inference.features.judging.engine.sources import AnswerSource, ComparisonColumn, SourceKind
from inference.isa.targets import X86
from inference.measuring.blocks import LOOP, UNROLLED
from inference.models import BasicBlockSet, Machine, PortMapping, Predictor, Run, StoredCoreModel
from inference.predictors.answer_arrays import column_of
from inference.predictors.protocol import Answer, Failure
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from tests.features.accuracy_checks.conftest import INSTRUCTIONS, UNKNOWN
from tests.work import work_off

POPCNT = "popcnt GPR[64]:W, GPR[64]:R"


def check(machine: Machine, block_set: BasicBlockSet, **more: Any) -> Run:
    config = {"machine": machine.pk, "block_set": block_set.pk, **more}
    return work_off(lifecycle.submit("accuracy-check", config, "a check"))


@pytest.mark.django_db(transaction=True)  # predictors are asked in threads
def test_blocks_are_measured_in_rounds_and_predictors_scored(
    machine: Machine, block_set: BasicBlockSet, wrong_mapping: PortMapping
) -> None:
    row = predictor_row("mapping:mapping=inferred")
    run = check(machine, block_set, predictors=[row.pk])
    assert run.state == "done", run.error
    found = check_of(run)
    assert found is not None
    assert (found["rounds"], found["blocks"], found["measured"]) == (3, block_set.size, block_set.size - 1)
    (one,) = found["predictors"]
    assert (one["name"], one["answered"], one["failed"]) == (row.name, found["measured"], 1)
    assert found["again"]["scores"]["mape"] < 1.5 < one["scores"]["mape"]
    assert {block["hex"] for block in one["worst"][:10]} <= {
        block.code.hex() for block in block_set.blocks.filter(mnemonics__contains=" popcnt ")
    }
    telling = one["traits"]["found"][0]
    assert (telling["kind"], telling["name"]) == ("scheme", POPCNT)
    assert telling["signed"] < 0
    row_of_run = comparison_rows().get(run=run)
    columns = columns_of(row_of_run)
    assert [column.name for column in columns] == ["lab, measured again", row.name]
    assert (row_of_run.block_set_id, row_of_run.n) == (run.result["block_set"], block_set.size)
    judged = verdict_of(columns, columns[1], FULL_COMPARISON)
    assert judged is not None
    assert judged.as_json() == one["judgement"]
    (worst, *_), _ = items_in_bin(columns[1], FULL_COMPARISON, None)
    assert bytes(worst.block.code).hex() == one["worst"][0]["hex"]


def test_of_several_rounds_the_median_counts_and_failures_only_where_nothing_was_measured() -> None:
    failed = Answer(failure=Failure.UNSUPPORTED)
    first = [Answer(2.0), failed, failed]
    rounds = [first, [Answer(9.0), Answer(3.0), failed], [Answer(2.5), Answer(4.0), failed]]
    assert median_answers(rounds) == [Answer(2.5), Answer(3.5), failed]
    assert median_answers([first]) == first


@pytest.mark.django_db(transaction=True)  # predictors are asked in threads
def test_what_was_found_is_a_set_with_columns_too(
    machine: Machine, block_set: BasicBlockSet, wrong_mapping: PortMapping
) -> None:
    run = check(machine, block_set, blocks=40, predictors=[predictor_row("mapping:mapping=inferred").pk])
    made = BasicBlockSet.objects.get(pk=run.result["block_set"])
    assert (made.size, made.origin, made.run) == (40, "run", run)
    columns = list(made.columns.order_by("position"))
    assert columns[0].predictor is not None
    assert (columns[0].predictor.kind, columns[1].predictor) == ("machine", None)
    found = check_of(run)
    assert found is not None
    scores = {one["name"]: one["scores"] for one in accuracy_of(made, columns[0])["columns"]}
    assert scores[columns[2].name] == found["predictors"][0]["scores"]
    assert scores[columns[1].name] == found["again"]["scores"]
    weights = dict(block_set.blocks.values_list("code", "weight"))
    assert all(weights[block.code] == block.weight for block in made.blocks.all())


def test_without_a_choice_all_that_suit_the_machine_are_asked(
    machine: Machine, wrong_mapping: PortMapping, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    configured = Predictor.objects.create(name="mine", kind="command", key="m" * 64, origin="configured")
    imported = Predictor.objects.create(name="foreign", kind="imported", key="f" * 64, origin="imported")
    rows, _ = default_predictors(machine, UNROLLED)
    assert "mapping inferred" in [row.name for row in rows]
    assert configured in rows
    assert imported not in rows
    assert all(row.kind != "machine" for row in rows)


def test_blocks_are_told_apart_by_the_largest_bound_of_the_core_model(
    machine: Machine, wrong_mapping: PortMapping
) -> None:
    imul, loads = "480fafc3", "488b07" * 4
    codes = [bytes.fromhex(code) for code in (imul, loads, UNKNOWN)]
    measuring = Predictor(kind="machine", options={"machine": machine.name})
    assert core_model_of_machine(measuring) is None
    made = {"isa": machine.isa, "machine": machine, "mapping": wrong_mapping}
    StoredCoreModel.objects.create(name="lab", **made)
    assert "core model lab" in [row.name for row in default_predictors(machine, UNROLLED)[0]]
    assert "core model lab · loop" in [row.name for row in default_predictors(machine, LOOP)[0]]
    options = core_model_of_machine(measuring)
    assert options is not None
    told = largest_bounds(options, codes, UNROLLED)
    assert (told[1], told[2]) == ("ports", "")
    without = first_core_model([predictor_row("core-model:model=lab,without=ports")])
    assert without is not None
    assert largest_bounds(without, codes, UNROLLED)[1] != "ports"


def test_who_cannot_answer_is_left_out_with_the_reason(machine: Machine, block_set: BasicBlockSet) -> None:
    gone = Predictor.objects.create(name="gone", kind="mapping", options={"mapping": "none"}, key="g" * 64)
    run = check(machine, block_set, blocks=10, predictors=[gone.pk])
    found = check_of(run)
    assert found is not None
    assert (found["predictors"], list(found["unasked"])) == ([], ["gone"])


def test_the_seed_draws_the_blocks(block_set: BasicBlockSet) -> None:
    task = SimpleNamespace(run=Run(name="a run"))

    def drawn(seed: int, most: int = 20) -> list[bytes]:
        reader = sampled_blocks(task, block_set, QuestionLimits(most=most, seed=seed))  # type: ignore[arg-type]
        reader.read_all()
        return reader.codes

    first, same, other = (drawn(seed) for seed in (1, 1, 2))
    assert first == same != other
    assert len(drawn(1, 10_000)) == block_set.size


def test_wrong_descriptions_are_refused_by_field(machine: Machine, block_set: BasicBlockSet) -> None:
    good = {"machine": machine.pk, "block_set": block_set.pk}
    empty = BasicBlockSet.objects.create(name="empty")
    for config, named in (
        ({**good, "machine": 999}, "machine"),
        ({**good, "block_set": 999}, "block_set"),
        ({**good, "block_set": empty.pk}, "no blocks"),
        ({**good, "blocks": 9}, "blocks"),
        ({**good, "mode": "twice"}, "mode"),
        ({**good, "predictors": [999]}, "predictors"),
    ):
        with pytest.raises(ConfigError, match=named):
            lifecycle.submit("accuracy-check", config, "wrong")


def test_blocks_that_nobody_can_measure_fail_the_run(machine: Machine, block_set: BasicBlockSet) -> None:
    block_set.blocks.exclude(code=bytes.fromhex(UNKNOWN)).delete()
    block_set.blocks.update(position=0)
    BasicBlockSet.objects.filter(pk=block_set.pk).update(size=1)
    run = check(machine, block_set)
    assert run.state == "failed"
    assert "could be measured" in run.error


def test_traits_are_accesses_to_memory_too() -> None:
    store_and_load = bytes.fromhex("488907488b0f")  # mov [rdi], rax; mov rcx, [rdi]
    codes = [bytes.fromhex(INSTRUCTIONS["imul GPR[64]:RW, GPR[64]:R"][0]), store_and_load, b"\xff\xff"]
    having = {trait.name: at.tolist() for trait, at in memory_traits(codes, X86).items()}
    assert having["loads what it has stored"] == [False, True, False]
    assert having["no access to memory"] == [True, False, False]


def test_errors_are_told_by_component_and_by_share() -> None:
    items = Items(
        ItemKind.BLOCKS,
        np.arange(4),
        np.ones(4, dtype=np.int64),
        bounds=Grouping.of(["ports", "slots", "", ""]),
    )
    columns = [
        ComparisonColumn(AnswerSource(SourceKind.TOOL, name), column_of(answers))
        for name, answers in (
            ("again", [Answer(1.0), Answer(2.0), Answer(3.0), Answer(4.0)]),
            ("a tool", [Answer(1.1), Answer(1.0), Answer(3.0), Answer(failure=Failure.CRASH)]),
            ("mute", [Answer(failure=Failure.CRASH)] * 4),
        )
    ]
    measured = np.array([1.0, 2.0, np.nan, 4.0])
    sheet = AnswerSheet(items, measured, [column.answers for column in columns])
    found, nothing = check_of_sheet(sheet, columns, [b"\x01", b"\x02", b"\x03", b"\x04"], X86)["predictors"]
    assert (found["answered"], found["failed"], found["scores"]["n"]) == (3, 1, 2)
    assert [(one["bound"], one["n"], round(one["mape"], 6)) for one in found["bounds"]] == [
        ("ports", 1, 10.0),
        ("slots", 1, 50.0),
    ]
    assert (found["near"], found["above"], round(found["median"], 6)) == (0.5, 0.5, 30.0)
    assert [(block["hex"], round(error_of(block))) for block in found["worst"]] == [("02", -50), ("01", 10)]
    assert (nothing["scores"]["n"], nothing["median"], nothing["worst"]) == (0, None, [])
