"""How each external program is called, and what is said where it is missing or not set up."""

from __future__ import annotations

import time

import pytest

from inference.isa.x86.blocks.wrapping import BEGIN_MARKER, END_MARKER
from inference.predictors import command, cqa, difftune, iaca, ithemal, nanobench
from inference.predictors.kinds import KINDS
from inference.predictors.osaca.predictor import Osaca, OsacaSettings, python_of
from inference.predictors.protocol import Failure, PredictorError
from tests.predictors.fakes import CRASHING, GOOD, HANGING, osaca, script

BLOCK = bytes.fromhex("4801d8")
LOOPED = "4801d849ffcf75f8"
MARKED = (BEGIN_MARKER + BLOCK + END_MARKER).hex()


@pytest.fixture
def listening(tmp_path, monkeypatch):
    """A program that writes down how it is called, and says a number."""
    monkeypatch.setenv("PMWEB_TOOL_CACHES", str(tmp_path))

    def make(name: str, said: str) -> str:
        body = f"""
printf '%s ' "$@" > {tmp_path}/arguments
for file; do case "$file" in block*) od -An -tx1 -v "$file" | tr -d ' \\n' > {tmp_path}/content;; esac; done
cat >> {tmp_path}/given
echo "{said}"
"""
        return script(tmp_path / name, body)

    def heard(name: str) -> str:
        return (tmp_path / name).read_text().strip()

    make.heard = heard
    return make


def cycles_of(predictor) -> float | None:
    (answer,) = predictor.predict([BLOCK])
    predictor.close()
    return answer.cycles


def test_iaca_gets_its_markers(listening):
    program = listening("iaca", "Block Throughput: 2.00 Cycles       Throughput Bottleneck: FrontEnd")
    assert cycles_of(iaca.make(iaca.IacaSettings(program=program))) == 2.0
    assert listening.heard("arguments") == "-arch HSW block"
    assert listening.heard("content") == MARKED


def test_ithemal_predicts_a_hundred_executions(listening, tmp_path):
    program = listening("predict.py", "175.0")
    for name in ("dump", "model.mdl"):
        (tmp_path / name).write_text("x")
    paths = {"model": str(tmp_path / "dump"), "data": str(tmp_path / "model.mdl")}
    assert cycles_of(ithemal.make(ithemal.IthemalSettings(program=program, **paths))) == 1.75
    assert listening.heard("arguments") == (
        f"--verbose --model {paths['model']} --model-data {paths['data']} --files block"
    )
    assert listening.heard("content") == MARKED


def test_cqa_gets_an_object_file_with_a_loop(listening):
    program = listening("maqao", "Overall L1: 3.50")
    assert cycles_of(cqa.make(cqa.CqaSettings(program=program))) == 3.5
    assert listening.heard("arguments") == (
        "cqa --uarch=HASWELL --fct-loops=.* --confidence-levels=expert block.o"
    )
    content = listening.heard("content")
    assert content.startswith(b"\x7fELF".hex())
    assert LOOPED in content


def test_nanobench_takes_the_least_of_several_calls(listening, tmp_path):
    program = listening("nanoBench.sh", f"Core cycles: $(wc -l < {tmp_path}/calls).00")
    text = (tmp_path / "nanoBench.sh").read_text()
    (tmp_path / "nanoBench.sh").write_text(text.replace("cat >>", f"echo x >> {tmp_path}/calls\ncat >>"))
    predictor = nanobench.NanoBench(nanobench.NanoBenchSettings(program=program, samples=3, loop=10))
    assert cycles_of(predictor) == 2.0  # the second call: the first one was the plain addition
    assert (tmp_path / "calls").read_text() == "x\n" * 4
    assert listening.heard("arguments") == (
        "-unroll_count 100 -loop_count 10 -warm_up_count 5 -fixed_counters -asm add rax, rbx"
    )


@pytest.mark.parametrize(
    ("form", "around", "expected"),
    [
        ("intel", "nothing", ".intel_syntax noprefix\nadd rax, rbx\n"),
        ("att", "nothing", "addq %rbx, %rax\n"),
        ("hex", "nothing", "4801d8\n"),
        ("hex", "loop", f"{LOOPED}\n"),
        ("hex", "markers", f"{MARKED}\n"),
    ],
)
def test_a_command_gets_the_block_as_it_wants_it(listening, tmp_path, form, around, expected):
    program = listening("mine", "takes 4 half cycles")
    for words in ((program, "{file}"), (program,)):
        settings = command.CommandSettings(
            command=words, form=form, around=around, pattern=r"takes (\d+)", scale=0.5
        )
        assert cycles_of(command.make(settings)) == 2.0
    assert bytes.fromhex(listening.heard("content")).decode() == expected
    assert (tmp_path / "given").read_text() == expected


def test_a_command_gets_its_words_without_a_shell(listening):
    program = listening("mine", "1")
    settings = command.CommandSettings(command=f"{program} '$(touch /tmp/x)' 'two words' ';'", form="hex")
    assert cycles_of(command.make(settings)) == 1.0
    assert listening.heard("arguments") == "$(touch /tmp/x) two words ;"


def test_a_block_that_leaves_no_register_cannot_be_wrapped_in_a_loop(listening):
    registers = "rax rbx rcx rdx rsi rdi rbp r8 r9 r10 r11 r12 r13 r14 r15".split()  # noqa: SIM905
    from inference.isa.blocks import block_of_text

    block = block_of_text("\n".join(f"inc {name}" for name in registers)).code
    settings = command.CommandSettings(command=(listening("mine", "1"),), around="loop")
    (answer,) = command.make(settings).predict([block])
    assert answer.failure == Failure.UNSUPPORTED
    assert "all general-purpose registers" in answer.detail


def test_a_command_whose_file_changes_is_another_predictor(tmp_path):
    path = script(tmp_path / "mine", "echo 1")
    before = command.make(command.CommandSettings(command=(path,))).identity
    script(tmp_path / "mine", "echo 22")
    assert command.make(command.CommandSettings(command=(path,))).identity != before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"command": ""}, "must be a list of words"),
        ({"command": "x", "pattern": "cycles"}, "must have one group"),
        ({"command": "x", "pattern": "("}, "is no regular expression"),
        ({"command": "x", "protocol": "lines", "form": "object"}, "takes blocks as intel, att, hex"),
        ({"command": "x {file}", "protocol": "lines"}, "no {file}"),
        ({"command": "x", "form": "elf"}, "form must be one of"),
        ({"command": "x", "seconds": "0"}, "seconds must be a number"),
        ({"command": "x", "speed": "9"}, "no setting 'speed'"),
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(options, message):
    with pytest.raises(PredictorError, match=message):
        KINDS["command"].predictor(options)


@pytest.mark.parametrize(
    "name", ["uica", "iaca", "ithemal", "difftune", "cqa", "facile", "nanobench", "osaca"]
)
def test_a_program_that_is_missing_is_told_with_what_to_install(name, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    kind = KINDS[name]
    with pytest.raises(PredictorError) as caught:
        kind.predictor({"program": str(tmp_path / "missing")})
    assert kind.install in str(caught.value)


def test_a_program_that_fails_for_an_addition_is_not_set_up(tmp_path):
    program = script(tmp_path / "iaca", "echo 'error while loading shared libraries' >&2; exit 1")
    predictor = iaca.make(iaca.IacaSettings(program=program))
    with pytest.raises(PredictorError, match=r"even for `add rax, rbx`.*shared libraries.*IACA 3.0"):
        predictor.predict([BLOCK])


def test_a_wrapper_whose_program_is_missing_is_not_a_crash(tmp_path):
    path = script(tmp_path / "mine", "exec /nowhere/tool")
    with pytest.raises(PredictorError, match="missing"):
        command.make(command.CommandSettings(command=(path,))).predict([BLOCK])


def test_difftune_names_the_parameters_that_it_lacks(tmp_path):
    program = script(tmp_path / "llvm-mca", "echo LLVM version 8")
    with pytest.raises(PredictorError, match="parameters are not a file: no path is given"):
        difftune.DiffTune(difftune.DiffTuneSettings(program=program))


@pytest.mark.parametrize(
    ("begin", "python"),
    [
        ("#!/opt/x/bin/python3\n", "/opt/x/bin/python3"),
        ('#!/bin/sh\n\'\'\'exec\' "/a long path/../x/python3.11" "$0" "$@"\n', None),
        ("#!/bin/sh\n'''exec' /opt/y/bin/python3.11 \"$0\" \"$@\"\n", "/opt/y/bin/python3.11"),
        ("#!/usr/bin/perl\n", None),
    ],
)
def test_osaca_s_python_is_found_through_its_command(tmp_path, begin, python):
    path = tmp_path / "osaca"
    path.write_text(begin)
    if python is None:
        with pytest.raises(PredictorError, match="which Python runs it"):
            python_of(str(path))
    else:
        assert python_of(str(path)) == python


def test_the_time_in_which_osaca_loads_is_not_given_to_a_block_after_a_crash(tmp_path):
    settings = OsacaSettings(program=osaca(tmp_path / "python"), processes=1, seconds=3.0)
    predictor = Osaca(settings)
    try:
        began = time.monotonic()
        crashed, hung, good = predictor.predict([CRASHING, HANGING, GOOD])
        assert time.monotonic() - began < 60  # of 3 s, where its loading may take far longer
    finally:
        predictor.close()
    assert (crashed.failure, hung.failure, good.failure) == (Failure.CRASH, Failure.TIMEOUT, None)


def test_a_python_without_osaca_is_told(tmp_path):
    path = script(tmp_path / "python3", "echo 'PackageNotFoundError: osaca' >&2; exit 1")
    with pytest.raises(PredictorError, match="has no OSACA: PackageNotFoundError"):
        Osaca(OsacaSettings(program=path))
