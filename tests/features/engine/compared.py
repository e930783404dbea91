"""A comparison of a few experiments of real instructions, with predictors made up for it."""

from __future__ import annotations

from typing import Any

import pytest

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Mapping
from inference.features.judging.engine import item_answers
from inference.isa import x86
from inference.isa.blocks import block_of_bytes
from inference.isa.targets import X86
from inference.models import ISA, ExperimentSet, PortMapping, Predictor, Run
from inference.predictors.protocol import Answer, Failure, PredictorError
from inference.runs import lifecycle
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping
from inference.storage.rows import store_measurements
from tests.work import work_off

ADD, IMUL, COUNT = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R", "popcnt GPR[64]:W, GPR[64]:R"
MIXES = [{ADD: 1}, {IMUL: 1}, {ADD: 2, IMUL: 1}, {ADD: 1, COUNT: 1}, {ADD: 4}, {ADD: 3, IMUL: 2, COUNT: 1}]
CYCLES = [0.25, 1.0, 1.05, 1.0, 1.0, 3.1]


class Counting:
    """Says half a cycle per instruction; knows no popcnt. It has seen the blocks in `asked`."""

    name, identity = "counting", {"kind": "planted"}

    def __init__(self) -> None:
        self.asked: list[bytes] = []

    def predict(self, blocks: Any) -> list[Answer]:
        self.asked += blocks
        found = [block_of_bytes(code) for code in blocks]
        return [
            Answer(failure=Failure.UNSUPPORTED)
            if COUNT in dict(block.terms)
            else Answer(cycles=0.5 * len(block.instructions))
            for block in found
        ]

    def close(self) -> None:
        pass


def plant(monkeypatch: pytest.MonkeyPatch) -> Counting:
    """Predictors of the kind `planted` count; those called "absent" cannot work here."""
    tool = Counting()

    def opened(row: Predictor, task: Any = None, *, isa: str) -> Counting:
        if row.name == "absent":
            raise PredictorError("it is not installed")
        return tool

    monkeypatch.setattr(item_answers, "open_predictor", opened)
    return tool


def planted(name: str) -> Predictor:
    """A row that stands for a predictor that `plant` makes."""
    return Predictor.objects.create(name=name, kind="planted", key=f"{hash(name) % 10**9:064}")


def few_schemes() -> ISA:
    """Three schemes of x86-64."""
    return store_isa(X86, [each for each in x86.schemes() if each.text in (ADD, IMUL, COUNT)], "three")


def measured_set(isa: ISA, name: str = "measured", factor: float = 1.0, first: int = 0) -> ExperimentSet:
    """The experiments from the `first` on; a tool has answered for all but the last."""
    row = ExperimentSet.objects.create(name=name, isa=isa, origin=ExperimentSet.Origin.UPLOAD)
    results = [
        Measured(Experiment.of(mix), cycles * factor, annotations={"Oracle": cycles} if at < 5 else {})
        for at, (mix, cycles) in enumerate(zip(MIXES, CYCLES, strict=True))
    ]
    store_measurements(row, results[first:])
    return row


def ports(isa: ISA, name: str = "two ports") -> PortMapping:
    """A mapping that knows add and imul."""
    value = Mapping(("0", "1"), {ADD: ((3, 1),), IMUL: ((2, 1),)})
    return store_mapping(name, isa, value, origin=PortMapping.Origin.IMPORT, source="by hand")


def compare(config: dict[str, object], name: str = "a comparison") -> Run:
    """Do the run."""
    return work_off(lifecycle.submit("comparison", config, name))
