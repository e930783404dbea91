"""A run that has checked two predictors of a set with two columns."""

from __future__ import annotations

import numpy as np

from inference.features.judging.accuracy_checks.request import AccuracyCheckConfig
from inference.features.judging.accuracy_checks.result import AccuracyCheck, AskedColumn, MeasuredBlockList
from inference.features.judging.accuracy_checks.traits import traits_of
from inference.models import BasicBlockSet, Machine, Run
from inference.predictors.protocol import Answer, Failure


def checked_run(machine: Machine, block_set: BasicBlockSet) -> Run:
    """Of the blocks of the set, as if it had made it; the second half of them is predicted badly."""
    codes = [bytes(code) for code in block_set.blocks.order_by("position").values_list("code", flat=True)]
    cycles = np.arange(1.0, len(codes) + 1)
    bounds = ["ports" if at % 2 else "front end" for at in range(len(codes))]
    blocks = MeasuredBlockList("x86-64", codes, cycles, bounds, traits_of(codes, bounds))
    good = [Answer(1.01 * each) for each in cycles.tolist()]
    bad = [
        Answer(2 * each) if at % 2 else Answer(failure=Failure.CRASH)
        for at, each in enumerate(cycles.tolist())
    ]
    floor, predictors = blocks.judged(
        AskedColumn(f"{machine.name}, measured again", good),
        [AskedColumn("good tool", good, is_published=True), AskedColumn("bad tool", bad)],
    )
    found = AccuracyCheck(
        machine.name,
        block_set.name,
        "unrolled",
        3,
        len(codes),
        len(codes),
        blocks.beside(f"{machine.name}, measured again", good),
        predictors,
        {"absent tool": "it is not installed"},
        floor,
    )
    return Run.objects.create(
        name="an accuracy check",
        kind="accuracy-check",
        state="done",
        config=AccuracyCheckConfig(machine=machine.pk, block_set=block_set.pk).as_json(),
        result={
            "name": "accuracy on lab",
            "block_set": block_set.pk,
            "source": block_set.pk,
            "check": found.as_json(),
        },
    )
