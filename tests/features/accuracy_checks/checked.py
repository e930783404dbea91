"""A run that has checked two predictors of a set with two columns."""

from __future__ import annotations

import numpy as np

from inference.core.judging.sheet import Answers, AnswerSheet, Grouping, ItemKind, Items
from inference.features.judging.accuracy_checks.query import check_of_sheet
from inference.features.judging.accuracy_checks.request import AccuracyCheckConfig
from inference.features.judging.engine.sources import AnswerSource, ComparisonColumn, SourceKind
from inference.isa.targets import X86
from inference.models import BasicBlockSet, Machine, Run
from inference.predictors.protocol import Failure


def checked_run(machine: Machine, block_set: BasicBlockSet) -> Run:
    """Of the blocks of the set, as if it had made it; the second half of them is predicted badly."""
    codes = [bytes(code) for code in block_set.blocks.order_by("position").values_list("code", flat=True)]
    cycles = np.arange(1.0, len(codes) + 1)
    bounds = ["ports" if at % 2 else "front end" for at in range(len(codes))]
    good = 1.01 * cycles
    bad = np.where(np.arange(len(codes)) % 2, 2 * cycles, np.nan)
    columns = [
        ComparisonColumn(AnswerSource(kind, name), Answers.of(answers, Failure.CRASH))
        for kind, name, answers in (
            (SourceKind.PREDICTOR, f"{machine.name}, measured again", good),
            (SourceKind.TOOL, "good tool", good),
            (SourceKind.PREDICTOR, "bad tool", bad),
        )
    ]
    places = np.arange(len(codes))
    items = Items(ItemKind.BLOCKS, places, np.ones_like(places), bounds=Grouping.of(bounds))
    sheet = AnswerSheet(items, cycles, [column.answers for column in columns])
    found = {
        "machine": machine.name,
        "source": block_set.name,
        "mode": "unrolled",
        "rounds": 3,
        **check_of_sheet(sheet, columns, codes, X86),
        "unasked": {"absent tool": "it is not installed"},
    }
    return Run.objects.create(
        name="an accuracy check",
        kind="accuracy-check",
        state="done",
        config=AccuracyCheckConfig(machine=machine.pk, block_set=block_set.pk).as_json(),
        result={
            "name": "accuracy on lab",
            "block_set": block_set.pk,
            "source": block_set.pk,
            "check": found,
        },
    )
