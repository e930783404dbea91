"""llvm-mca and OSACA answer for the instruction set of the processor that they are set to."""

from __future__ import annotations

import pytest

from inference.containment import Limits
from inference.isa.llvm_schemes import llvm_side
from inference.isa.targets import AARCH64, DEFAULT
from inference.predictors.kinds import KINDS
from inference.predictors.llvm.mca import LlvmMca
from inference.predictors.llvm.mca_settings import McaSettings
from inference.predictors.llvm.model import LlvmModel
from inference.predictors.llvm.releases import list_releases
from inference.predictors.llvm.text import texts_of
from inference.predictors.osaca.predictor import Osaca, OsacaSettings
from inference.predictors.processor_names import (
    PROCESSORS,
    names_of_processor,
    processors_named,
    usual_processor,
)
from inference.predictors.protocol import Failure, PredictorError

RELEASES = [release for release in list_releases() if release.mc]
needs_llvm = pytest.mark.skipif(not RELEASES, reason="llvm-mca is not installed")

ADD = bytes.fromhex("2000028b")  # add x0, x1, x2
POST_INDEXED = bytes.fromhex("838440f8")  # ldr x3, [x4], #8
CONSTANT = bytes.fromhex("2000a252")  # mov w0, #0x10010000, which is printed with a comment
SEPARATOR = bytes.fromhex("a00040d4")  # hlt #5
NONE = bytes.fromhex("ffffffff")


@needs_llvm
@pytest.mark.parametrize("release", RELEASES, ids=lambda release: str(release.number))
def test_blocks_stay_apart_whatever_they_contain(release) -> None:
    blocks = [ADD, NONE, SEPARATOR, ADD + NONE, ADD + CONSTANT, SEPARATOR * 2, POST_INDEXED]
    texts = texts_of(release.mc, blocks, Limits(), llvm_side(AARCH64))
    assert [len(text) if isinstance(text, tuple) else text.failure for text in texts] == [
        *(1, Failure.UNSUPPORTED, 1, Failure.UNSUPPORTED, 2, 2, 1)
    ]
    assert texts[6][0].split() == ["ldr", "x3,", "[x4],", "#8"]


@needs_llvm
def test_llvm_mca_answers_for_the_instruction_set_of_its_processor() -> None:
    kind, release = KINDS["llvm-mca"], RELEASES[-1].number
    assert kind.isas_of({"release": release, "cpu": "cortex-a57"}) == (AARCH64,)
    assert kind.isas_of({"release": release, "cpu": "haswell"}) == (DEFAULT,)
    predictor = LlvmMca(McaSettings(release=release, cpu="cortex-a57", processes=1))
    answers = predictor.predict([ADD, POST_INDEXED, CONSTANT, NONE])
    assert [answer.cycles for answer in answers] == [0.5, 1.0, 0.5, None]
    with pytest.raises(PredictorError, match="is it cortex-a"):
        LlvmMca(McaSettings(release=release, cpu="cortex-a5"))


@needs_llvm
def test_a_model_is_read_without_the_comments_of_the_disassembler() -> None:
    (answer,) = LlvmModel(RELEASES[-1], "cortex-a57").ask([CONSTANT + ADD])
    assert answer.text == ("mov w0, #268500992", "add x0, x1, x2")
    assert answer.cycles > 0


def test_osaca_answers_for_the_instruction_set_of_its_model() -> None:
    try:
        predictor = Osaca(OsacaSettings(arch="A72", processes=1))
    except PredictorError as error:
        pytest.skip(str(error))
    try:
        added, constant, none = predictor.predict([ADD, CONSTANT, NONE])
    finally:
        predictor.close()
    assert KINDS["osaca"].isas_of({"arch": "A72"}) == (AARCH64,)
    assert KINDS["osaca"].isas_of({"arch": "HSW"}) == (DEFAULT,)
    assert added.cycles == 0.5
    assert none.cycles is None
    assert constant.cycles or constant.detail == "its data for A72 lacks: mov w0, #268500992"


def test_arm_cores_have_names_in_tools() -> None:
    assert names_of_processor("llvm-mca", "Neoverse N1") == ("neoverse-n1",)
    assert names_of_processor("osaca", "Neoverse V2") == ("V2",)
    assert processors_named("llvm-mca", "cortex-a72") == ("Cortex-A72",)
    assert {"Cortex-A55", "Apple M4", "Haswell"} <= set(PROCESSORS)


def test_a_tool_predicts_for_a_usual_core_of_an_instruction_set() -> None:
    assert usual_processor(AARCH64) == "Neoverse N1"
    assert usual_processor(DEFAULT) == "Haswell"
    assert usual_processor("a set from a file") == ""
