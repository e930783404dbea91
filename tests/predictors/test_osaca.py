"""OSACA where it is installed: published numbers, and instructions that it does not know."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings as django_settings

from inference.predictors.llvm.releases import list_releases
from inference.predictors.osaca.predictor import Osaca, OsacaSettings, custom_model_digests
from inference.predictors.osaca.worker import may_access
from inference.predictors.protocol import Failure, PredictorError

BLOCKS = 60
COMPARE_MEMORY = bytes.fromhex("807aff00")


def made(unknown: str) -> Osaca:
    try:
        return Osaca(OsacaSettings(unknown=unknown, processes=1))
    except PredictorError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def lenient() -> Iterator[Osaca]:
    predictor = made("ignored")
    yield predictor
    predictor.close()


@pytest.mark.shared
def test_published_predictions_are_reproduced(lenient):
    if not list_releases():
        pytest.skip("they were made from LLVM's assembly text")
    path = django_settings.SHARED / "data" / "blocks" / "bbset_400_hsw.csv"
    with path.open() as file:
        rows = list(csv.DictReader(file))[:BLOCKS]
    answers = lenient.predict([bytes.fromhex(row["bb"]) for row in rows])
    assert [round(answer.cycles, 2) for answer in answers] == [float(row["osaca.0.7.1.hsw"]) for row in rows]


def test_a_block_is_answered_alike_whatever_came_before(lenient):
    blocks = [bytes.fromhex(code) for code in ("4801d8", "4801d84801d8", "488b034883c001", "4801d8")]
    assert lenient.predict(blocks) == [lenient.predict([block])[0] for block in blocks]


def test_an_instruction_that_its_data_lacks_makes_a_block_unsupported():
    predictor = made("unsupported")
    try:
        known, unknown = predictor.predict([bytes.fromhex("4801d8"), COMPARE_MEMORY])
    finally:
        predictor.close()
    assert known.cycles == 1.0
    assert unknown.failure == Failure.UNSUPPORTED
    assert "cmpb" in unknown.detail


def test_where_models_may_be_kept_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permissions do not tell: a sandbox forbids more."""
    assert may_access(str(tmp_path), os.W_OK)
    assert not list(tmp_path.iterdir())
    assert may_access(str(tmp_path), os.R_OK)

    def forbidden(**_: object) -> None:
        raise PermissionError("by the sandbox")

    monkeypatch.setattr(tempfile, "TemporaryFile", forbidden)
    assert os.access(tmp_path, os.W_OK)
    assert not may_access(str(tmp_path), os.W_OK)


def test_models_that_the_user_made_are_part_of_an_answers_identity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert custom_model_digests("ZEN4") == {}
    model = tmp_path / ".osaca" / "data" / "zen4.yml"
    model.parent.mkdir(parents=True)
    model.write_text("ports: []")
    first = custom_model_digests("ZEN4")
    assert first.keys() == {"zen4.yml"}
    model.write_text("ports: ['0']")
    assert custom_model_digests("ZEN4") not in ({}, first)
    assert custom_model_digests("HSW") == {}
