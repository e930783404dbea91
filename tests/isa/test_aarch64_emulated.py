"""Generated code of AArch64 runs in QEMU's user mode: it returns, counts, and gives everything back.

Nothing here is timed: an emulator says nothing about times.
"""

from __future__ import annotations

import dataclasses

from inference.agent.frame import function
from inference.agent.targets import aarch64 as target
from inference.isa.aarch64 import instruction_set
from inference.isa.aarch64.assembling import Assembler, frame
from tests.isa.aarch64_program import machine_code, needs_qemu, run

pytestmark = needs_qemu

COUNT = ["ldr x0, [x27, #8]", "add x0, x0, #1", "str x0, [x27, #8]"]


def test_the_body_runs_as_often_as_it_is_told(tmp_path):
    outcome = run([function(frame(), machine_code(COUNT))], tmp_path / "count", iterations=1000)
    assert (outcome.status, outcome.returned) == (0, 1)
    assert outcome.words[1] == 1000


def test_every_measurable_scheme_runs_and_whatever_belongs_to_the_caller_is_as_it_was(tmp_path):
    texts = [scheme.text for scheme in instruction_set().schemes if not scheme.exclusion]
    assembler = Assembler()
    bodies = [assembler.unroll([(text, 1)], instructions=12) for text in texts]
    functions = [function(frame(), body.code) for body in bodies]
    outcome = run(functions, tmp_path / "schemes")
    stopped = (
        ""
        if outcome.returned == len(texts)
        else f"{texts[outcome.returned]}: {bodies[outcome.returned].lines}"
    )
    assert outcome.status == 0, stopped


def test_the_caller_s_registers_are_found_to_be_changed_where_they_are(tmp_path):
    broken = machine_code(["mov x19, #1", "ret"])
    assert run([broken], tmp_path / "broken").status == 1


def test_registers_have_the_values_of_the_frame(tmp_path):
    around = dataclasses.replace(frame(), registers={**frame().registers, "x3": 0x123456789ABCDEF0})
    body = [
        *("str x3, [x27, #16]", "sub x4, x19, x27", "str x4, [x27, #24]"),
        *("str d31, [x27, #32]", "mrs x5, fpcr", "str x5, [x27, #40]"),
    ]
    outcome = run([function(around, machine_code(body))], tmp_path / "values")
    assert outcome.words[2] == 0x123456789ABCDEF0
    assert outcome.words[3] == frame().addresses["x19"]
    assert outcome.words[4] == frame().vector
    assert outcome.words[5] == 1 << 24  # denormal numbers count as zero


def test_the_clock_and_the_known_blocks_run(tmp_path):
    codes = [target.CHAIN, *(check.item.code for check in target.checks())]
    outcome = run([function(target.frame(), code) for code in codes], tmp_path / "known")
    assert (outcome.status, outcome.returned) == (0, len(codes))


def test_code_that_has_just_been_written_is_executed_after_the_cache_was_told(tmp_path):
    """The routine is called as a function: (start, end) of two instructions that the program has written."""
    lines = [
        *("stp x29, x30, [sp, #-16]!", "mov x29, x1"),
        *("movz w2, #0x0160", "movk w2, #0xd280, lsl #16", "str w2, [x1, #64]"),  # mov x0, #11
        *("movz w2, #0x03c0", "movk w2, #0xd65f, lsl #16", "str w2, [x1, #68]"),  # ret
        *("add x0, x1, #64", "add x1, x1, #72", "bl 1f", "add x2, x29, #64", "blr x2", "str x0, [x29]"),
        *("ldp x29, x30, [sp], #16", "ret", "1: nop"),
    ]
    caller = machine_code(lines)[:-4] + target.SYNCHRONISE
    outcome = run([caller], tmp_path / "written")
    assert outcome.status == 0
    assert outcome.words[0] == 11
