"""The agent's side of RISC-V: encodings, frames that run in QEMU, what the kernel shows of processors."""

from __future__ import annotations

import dataclasses
import platform

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.agent import riscv
from inference.agent.facts import facts, unfit
from inference.agent.protocol import Frame
from inference.agent.targets import FrameError, native, riscv64, target_of
from inference.agent.targets import riscv_words as words
from inference.agent.targets.words import code
from tests.isa.riscv64_program import machine_code, needs_llvm_mc, needs_qemu, run

COUNT = ["ld x5, 8(x26)", "addi x5, x5, 1", "sd x5, 8(x26)"]
X60 = {
    "processor": "0",
    "isa": "rv64imafdcv_zicbom_zicboz_zicntr_zba_zbb_zbc_zbs_zfh_zfhmin_zicond",
    "mvendorid": "0x710",
    "marchid": "0x8000000058000001",
    "mimpid": "0x1000000049772200",
}


@needs_llvm_mc
def test_words_are_what_the_assembler_makes_of_them():
    pairs = [
        (words.add(3, 4, 5), "add x3, x4, x5"),
        (words.multiply(3, 4, 5), "mul x3, x4, x5"),
        (words.multiply_doubles(7, 0, 1), "fmul.d f7, f0, f1"),
        (words.move(27, 10), "mv x27, x10"),
        (words.move_to_floating(31, 5), "fmv.d.x f31, x5"),
        (words.load(9, words.SP, -8), "ld x9, -8(sp)"),
        (words.store(9, words.SP, 168), "sd x9, 168(sp)"),
        (words.load_double(9, words.SP, 168), "fld f9, 168(sp)"),
        (words.store_double(9, words.SP, -2048), "fsd f9, -2048(sp)"),
        (words.swap_control(5, 0), "fscsr x5, x0"),
        (words.RET, "ret"),
        (words.NOP, "nop"),
    ]
    assert code(word for word, _ in pairs) == machine_code([text for _, text in pairs])
    ends = ["addi x27, x27, -1", "bnez x27, -404"]
    assert code(words.count_down(27, 400)) == machine_code(ends)
    far = ["addi x27, x27, -1", "beqz x27, 8", "j -24584"]
    assert code(words.count_down(27, 24576)) == machine_code(far)
    call = ["li a2, 0", "li a7, 259", "ecall", "ret"]
    assert machine_code(call) == riscv64.SYNCHRONISE


@given(st.integers(-(1 << 63), (1 << 64) - 1))
def test_constants_are_set_with_all_their_bits(value):
    register = 0
    for word in words.set_register(5, value):
        immediate = (word >> 20 ^ 0x800) - 0x800
        before = register if word >> 15 & 31 else 0
        if word & 0x7F == 0x37:
            register = ((word >> 12 ^ 0x80000) - 0x80000) << 12
        elif word & 0x7F == 0x1B:
            register = ((before + immediate & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000
        elif word >> 12 & 7 == 1:
            register = before << (word >> 20)
        else:
            register = before + immediate
    assert register % 2**64 == value % 2**64


def test_the_loop_starts_at_a_cache_line():
    body = code([words.add(5, 6, 7)] * 5)
    assert riscv64.function(riscv64.frame(), body).index(body) % 64 == 0


@pytest.mark.parametrize(
    "frame",
    [
        Frame(isa="RISC-V"),  # registers of x86-64
        Frame(isa="RISC-V", memory_register="x26", counter_register="x27", registers={"x4": 1}),
        Frame(isa="RISC-V", memory_register="x26", counter_register="x27", registers={"x27": 1}),
        Frame(isa="RISC-V", memory_register="x26", counter_register="x27", addresses={"x5": 1 << 20}),
        Frame(isa="RISC-V", memory_register="x26", counter_register="x27", vectors={"v32": 1}),
        Frame(isa="RISC-V", memory_register="x26", counter_register="x27", vectors={"f32": 1}),
        Frame(isa="RISC-V", memory_register="x26", counter_register="x27", vectors={"f³": 1}),
    ],
)
def test_frames_that_cannot_be_built_are_refused(frame: Frame):
    with pytest.raises(FrameError):
        riscv64.function(frame, code([words.NOP]))


@pytest.mark.parametrize("length", [3, 1 << 20])
def test_bodies_that_cannot_be_closed_are_refused(length: int):
    with pytest.raises(FrameError):
        riscv64.function(riscv64.frame(), bytes(length))


@needs_qemu
@pytest.mark.parametrize("padding", [0, 1, 2000])
def test_the_body_runs_as_often_as_it_is_told(tmp_path, padding):
    body = machine_code([*COUNT, *["nop"] * padding])
    outcome = run([riscv64.function(riscv64.frame(), body)], tmp_path / "count", iterations=1000)
    assert (outcome.status, outcome.returned, outcome.words[1]) == (0, 1, 1000)


@needs_qemu
def test_registers_have_the_values_of_the_frame(tmp_path):
    around = dataclasses.replace(
        riscv64.frame(),
        registers={"x7": 0x123456789ABCDEF0, "x28": -1},
        addresses={"x18": 3000, "x22": -2048},
        vectors={"f3": 0xFFFFFFFF3F8CCCCD},
    )
    body = [
        *("sd x7, 8(x26)", "sub x8, x18, x26", "sd x8, 16(x26)", "sub x8, x22, x26", "sd x8, 24(x26)"),
        *("fsd f31, 32(x26)", "fsd f3, 40(x26)", "sd x28, 48(x26)"),
    ]
    outcome = run([riscv64.function(around, machine_code(body))], tmp_path / "values")
    all_ones = 2**64 - 1
    expected = (0x123456789ABCDEF0, 3000, 2**64 - 2048, around.vector, 0xFFFFFFFF3F8CCCCD, all_ones)
    assert outcome.words[1:7] == expected


@needs_qemu
@pytest.mark.parametrize("bits", [128, 256])
def test_named_vector_registers_are_filled_whatever_their_length(tmp_path, bits):
    around = dataclasses.replace(riscv64.frame(), vectors={"v0": 2**64 - 1, "v31": 0x3F8CCCCD3F8CCCCD})
    body = ["mv x7, x26", ".word 0x02838027", "addi x7, x26, 32", ".word 0x02838fa7"]  # vs1r.v
    outcome = run(
        [riscv64.function(around, machine_code(body))], tmp_path / "v", cpu=f"rv64,v=true,vlen={bits}"
    )
    count = bits // 64
    assert outcome.words[:count] == (2**64 - 1,) * count
    assert outcome.words[4 : 4 + count] == (0x3F8CCCCD3F8CCCCD,) * count


@needs_qemu
def test_what_belongs_to_the_caller_is_given_back(tmp_path):
    """Everything that a body may write is written, and the rounding mode changed."""
    numbers = (1, *range(5, 26), *range(28, 32))
    body = [
        *(f"li x{number}, 7" for number in numbers),
        *(f"fcvt.d.w f{n}, x0" for n in range(32)),
        "fsrmi 2",
    ]
    codes = [machine_code(body), riscv64.CHAIN, *(check.item.code for check in riscv64.checks())]
    functions = [riscv64.function(riscv64.frame(), body_code) for body_code in codes]
    outcome = run(functions, tmp_path / "saved")
    assert (outcome.status, outcome.returned) == (0, len(codes))
    broken = machine_code(["li x19, 1", "ret"])
    assert run([broken], tmp_path / "broken").status == 1


@needs_qemu
def test_code_that_has_just_been_written_is_executed_after_the_kernel_was_told(tmp_path):
    """The routine is called as a function: (start, end) of two instructions that the program has written."""
    lines = [
        *("addi sp, sp, -16", "sd ra, 0(sp)", "sd x11, 8(sp)"),
        *("li x5, 0x00b00513", "sw x5, 64(x11)", "li x5, 0x00008067", "sw x5, 68(x11)"),  # li a0, 11; ret
        *("addi x10, x11, 64", "addi x11, x11, 72", "jal ra, 1f", "ld x5, 8(sp)", "addi x6, x5, 64"),
        *(
            "jalr ra, x6, 0",
            "ld x5, 8(sp)",
            "sd x10, 0(x5)",
            "ld ra, 0(sp)",
            "addi sp, sp, 16",
            "ret",
            "1: nop",
        ),
    ]
    caller = machine_code(lines)[:-4] + riscv64.SYNCHRONISE
    outcome = run([caller], tmp_path / "written")
    assert (outcome.status, outcome.words[0]) == (0, 11)


def test_processors_are_known_by_their_numbers():
    found = riscv.description(X60, probe=lambda _key: None)
    assert (found["cpu"], found["vendor"], found["implementer"]) == ("SpacemiT X60", "SpacemiT", 0x710)
    assert {"i", "m", "a", "f", "d", "c", "v", "zba", "zbb", "zbs", "zfh", "zicond"} <= {*found["flags"]}
    by_tree = riscv.description({"mvendorid": "0x5b7", "marchid": "0x0", "uarch": "thead,c910"})
    assert by_tree["cpu"] == "T-Head C910"
    assert riscv.description({})["cpu"] == "unknown"
    assert riscv.description({}, "QEMU's user mode")["cpu"] == "RISC-V in QEMU's user mode"


@pytest.mark.parametrize(
    ("isa", "bits", "expected"),
    [
        ("rv64imafdc", None, ["a", "c", "d", "f", "i", "m"]),
        ("rv64gc_zba", None, ["a", "c", "d", "f", "i", "m", "zba"]),
        ("rv64imafdczicsr", None, ["a", "c", "d", "f", "i", "m"]),
        ("rv64imac", 1 << 2 | 1 << 35, ["a", "c", "i", "m", "v", "zicond"]),
        ("", 1 << 3, ["zba"]),
        ("x", None, []),
    ],
)
def test_extensions_are_read_from_both_sources(isa, bits, expected):
    assert riscv.extensions(isa, bits) == expected


def test_a_computer_offers_basic_blocks_and_tells_of_no_hypervisor(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    found = facts(None)
    assert (found["isa"], found["blocks"], found["virtual"]) == ("RISC-V", True, None)
    assert unfit("Linux", "riscv64") == ""
    assert native("riscv64") is target_of("RISC-V") is riscv64
