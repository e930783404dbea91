"""llvm-mca as a predictor: the dialogue by itself, and the installed releases."""

from __future__ import annotations

import csv

import pytest
from django.conf import settings as django_settings

from inference.containment import Limits
from inference.core.errors import InvalidInputError
from inference.isa.llvm_schemes import llvm_side
from inference.isa.targets import DEFAULT
from inference.predictors.llvm.mca import LlvmMca, McaBatch, read_reply
from inference.predictors.llvm.mca_settings import TOTAL, McaSettings
from inference.predictors.llvm.releases import list_releases, processors, release_of
from inference.predictors.llvm.text import texts_of
from inference.predictors.protocol import Failure, PredictorError
from tests.predictors.fakes import script

RELEASES = {release.number: release for release in list_releases() if release.mc}
needs_llvm = pytest.mark.skipif(not RELEASES, reason="llvm-mca is not installed")
every_release = pytest.mark.parametrize("number", sorted(RELEASES, key=int))

ADD, XOR, PUSH_FS, WIDE = (bytes.fromhex(code) for code in ("4801d8", "4831db", "0fa0", "62f16c4858c3"))
TEXTS = [("addq %rbx, %rax",), ("xorq %rbx, %rbx", "lock addl %eax, (%rbx)"), ("hlt",)]


def region(number: int, name: str, iterations: int, instructions: int, cycles: int) -> str:
    """As the summary of any release begins."""
    return (
        f"\n[{number}] Code Region - {name}\n\nIterations:        {iterations}\n"
        f"Instructions:      {instructions}\nTotal Cycles:      {cycles}\nTotal uOps:        100\n\n"
        "Dispatch Width:    4\nuOps Per Cycle:    0.97\n"
    )


def reply(output: str, complaints: str = "", **options):
    settings = McaSettings(**options)
    question = McaBatch.of(TEXTS, settings)
    return read_reply(question, TEXTS, settings, output.encode(), complaints.encode()).answers


def test_a_block_stands_in_the_input_once_and_four_times_over():
    question = McaBatch.of(TEXTS[:2], McaSettings(iterations=40))
    lines = question.stdin.decode().splitlines()
    assert question.iterations == 10
    assert lines[:3] == ["# LLVM-MCA-BEGIN 0a", "addq %rbx, %rax", "# LLVM-MCA-END"]
    assert lines[3:9] == ["# LLVM-MCA-BEGIN 0b", *["addq %rbx, %rax"] * 4, "# LLVM-MCA-END"]
    assert len(question.owners) == len(lines)
    assert question.stdin.endswith(b"\n")  # the newest releases do not know the last line otherwise


def test_the_rate_is_what_further_iterations_take():
    output = region(0, "0a", 20, 20, 23) + region(1, "0b", 20, 80, 83)
    assert reply(output)[0].cycles == 1.0


def test_the_total_is_divided_by_all_iterations():
    output = region(0, "0a", 100, 100, 103)
    assert reply(output, counting=TOTAL, iterations=100)[0].cycles == 1.03


def test_a_line_that_cannot_be_parsed_makes_its_block_unsupported():
    output = region(0, "0a", 20, 20, 23) + region(1, "0b", 20, 80, 83) + region(2, "1a", 20, 20, 23)
    complaints = "<stdin>:11:1: error: invalid instruction mnemonic 'lock'\nlock\n^~~~\n"
    first, second, third = reply(output, complaints)
    assert first.cycles == 1.0
    assert (second.failure, second.detail) == (Failure.UNSUPPORTED, "invalid instruction mnemonic 'lock'")
    assert third is None


def test_an_instruction_that_the_model_lacks_makes_its_block_unsupported():
    complaints = (
        "error: found an unsupported instruction in the input assembly sequence.\nnote: instruction: \thlt\n"
    )
    third = reply("", complaints)[2]
    assert (third.failure, third.detail) == (Failure.UNSUPPORTED, "its model of this processor lacks: hlt")


def test_a_block_of_which_something_was_left_out_has_no_number():
    output = region(0, "1a", 20, 20, 23) + region(1, "1b", 20, 80, 83)  # 40 and 160 instructions were asked
    assert reply(output)[1].failure == Failure.UNSUPPORTED


def test_fewer_cycles_for_more_iterations_are_no_number():
    output = region(0, "0a", 20, 20, 83) + region(1, "0b", 20, 80, 23)
    assert reply(output)[0].failure == Failure.NO_NUMBER


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iterations": 50}, "multiple of 4"),
        ({"cpu": "native"}, "name of a processor"),
        ({"cpu": "a b"}, "name of a processor"),
        ({"flags": "-iterations=3"}, "set by the program itself"),
        ({"flags": "noalias"}, "written like"),
        ({"counting": "mean"}, "must be one of"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        McaSettings(**options)


def test_a_release_that_is_not_there_is_said_to_be_missing():
    with pytest.raises(PredictorError, match=r"llvm-mca 77 is not installed here.*apt install"):
        LlvmMca(McaSettings(release="77"))


def test_a_program_that_is_no_llvm_is_refused(tmp_path):
    path = script(tmp_path / "llvm-mca", "echo hello")
    with pytest.raises(PredictorError, match="which version of LLVM"):
        release_of(path)


@needs_llvm
def test_blocks_keep_in_step_whatever_cannot_be_decoded():
    mark = bytes.fromhex("0f18840000000000")  # as the text itself is parted
    blocks = [ADD, b"\x06", mark, b"\x48\x01", ADD + XOR, bytes.fromhex("f0480fc74e40"), mark * 2]
    texts = texts_of(next(iter(RELEASES.values())).mc, blocks, Limits(), llvm_side(DEFAULT))
    assert [len(text) if isinstance(text, tuple) else text.failure for text in texts] == [
        *(1, Failure.UNSUPPORTED, 1, Failure.UNSUPPORTED, 2, 1, 2)
    ]
    assert texts[4][1].split() == ["xorq", "%rbx,", "%rbx"]
    assert texts[5][0].startswith("lock cmpxchg16b")


@needs_llvm
@every_release
def test_many_blocks_at_a_time_get_the_answers_that_each_gets_alone(number):
    blocks = [ADD, b"\x06", XOR, PUSH_FS, ADD + XOR, bytes.fromhex("488b03"), ADD * 3]
    predictor = LlvmMca(McaSettings(release=number, processes=1))
    together = predictor.predict(blocks)
    alone = LlvmMca(McaSettings(release=number, batch=1, processes=1)).predict(blocks)
    assert together == alone
    assert together[0].cycles == 1.0
    assert together[1].failure == Failure.UNSUPPORTED
    assert together[6].cycles == 3.0  # not 3.05, which a first latency would make of it


@needs_llvm
@pytest.mark.skipif("22" not in RELEASES, reason="llvm-mca 22 is not installed")
def test_a_block_that_crashes_a_release_costs_no_other_its_answer():
    predictor = LlvmMca(McaSettings(release="22", processes=1))
    blocks = [ADD] * 5 + [ADD + PUSH_FS] + [XOR] * 5
    answers = predictor.predict(blocks)
    assert [answer.failure for answer in answers] == [None] * 5 + [Failure.CRASH] + [None] * 5
    assert answers[5].detail == "ended by SIGSEGV"
    assert any("fs" in instruction for instruction in predictor._crashing)  # such blocks are asked alone now
    assert [answer.failure for answer in predictor.predict([ADD, PUSH_FS + XOR])] == [None, Failure.CRASH]


@needs_llvm
@pytest.mark.parametrize("number", [number for number in ("14", "22") if number in RELEASES])
def test_an_instruction_that_a_model_lacks_is_unsupported_in_any_release(number):
    predictor = LlvmMca(McaSettings(release=number, cpu="znver2", processes=1))
    answers = predictor.predict([ADD, WIDE, XOR, ADD + WIDE])
    assert [answer.failure for answer in answers] == [None, Failure.UNSUPPORTED, None, Failure.UNSUPPORTED]
    assert "vaddps" in answers[1].detail


@needs_llvm
def test_processors_and_flags_that_a_release_does_not_take_are_told_before_anything_is_asked():
    with pytest.raises(PredictorError, match=r"knows no processor 'haswel'; is it haswell\? It knows "):
        LlvmMca(McaSettings(cpu="haswel"))
    with pytest.raises(PredictorError, match="no scheduling model of pentium4"):
        LlvmMca(McaSettings(cpu="pentium4"))
    with pytest.raises(PredictorError, match="does not work with -mcpu=haswell -nonsense"):
        LlvmMca(McaSettings(flags="-nonsense")).predict([ADD])
    assert "haswell" in processors(next(iter(RELEASES.values())).mca)


@needs_llvm
def test_flags_change_answers_and_identity():
    block = bytes.fromhex("488903488b03")  # a store, and a load from the same address
    usual, careful = (LlvmMca(McaSettings(flags=flags)) for flags in ("", "-noalias=false"))
    assert usual.identity != careful.identity
    assert careful.name.endswith("-noalias=false")
    assert usual.predict([block])[0].cycles < careful.predict([block])[0].cycles


@pytest.mark.shared
@pytest.mark.parametrize("number", [number for number in ("13", "22") if number in RELEASES])
def test_published_predictions_are_reproduced(number):
    path = django_settings.SHARED / "data" / "blocks" / "bbset_400_hsw.csv"
    with path.open() as file:
        rows = list(csv.DictReader(file))
    predictor = LlvmMca(McaSettings(release=number, counting=TOTAL, iterations=100))
    answers = predictor.predict([bytes.fromhex(row["bb"]) for row in rows])
    published = [float(row[f"llvm-mca.{number}.hsw"]) for row in rows]
    assert [round(answer.cycles, 2) for answer in answers] == published


def test_a_release_that_is_installed_later_is_found(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    before = {release.version for release in list_releases()}
    script(tmp_path / "llvm-mca-98", "echo LLVM version 98.7.6")
    assert {release.version for release in list_releases()} - before == {"98.7.6"}
