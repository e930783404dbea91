"""The instruction set of random blocks follows from the predictors that are asked about them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inference.features.asking.predictors.kinds import common_isa
from inference.isa import targets
from inference.isa.targets import AARCH64, DEFAULT, RISCV
from inference.models import Predictor
from inference.predictors.kinds import KINDS
from inference.predictors.llvm import mca
from inference.runs.errors import ConfigError
from tests.isa.toy.target import TARGET as TOY


def predictor(monkeypatch: pytest.MonkeyPatch, kind: str, *isas: str) -> int:
    monkeypatch.setitem(KINDS, kind, replace(KINDS[mca.KIND], name=kind, isas=isas, isa_of=None))
    return Predictor.objects.create(name=f"a {kind}", kind=kind, key=kind.ljust(64)).pk


@pytest.fixture(autouse=True)
def toy(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(targets.FOLDERS, TOY.name, lambda: TOY)


def test_it_is_the_first_that_all_answer_for(monkeypatch: pytest.MonkeyPatch) -> None:
    both = predictor(monkeypatch, "both", TOY.name, DEFAULT)
    alone = predictor(monkeypatch, "toys", TOY.name)
    assert common_isa([both]) == DEFAULT
    assert common_isa([both, alone]) == TOY.name
    assert common_isa([]) == DEFAULT


def test_predictors_without_one_in_common_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = predictor(monkeypatch, "ours", DEFAULT)
    alone = predictor(monkeypatch, "toys", TOY.name)
    isas = f"{DEFAULT}, {AARCH64}, {RISCV}, {TOY.name}"
    words = f"predictors must all answer for one of {isas}: a ours answers for {DEFAULT}"
    with pytest.raises(ConfigError, match=words):
        common_isa([ours, alone])
