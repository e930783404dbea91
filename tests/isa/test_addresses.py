"""Addresses of a block's accesses: what its registers hold is what a processor computes."""

from __future__ import annotations

import ctypes
import platform

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.agent.code_pages import GuardedPages
from inference.isa.addresses import BlockAddress, InstructionAddresses
from inference.isa.blocks import Block, accesses_of, read_blocks
from inference.isa.dependences import MEMORY_BYTES
from inference.isa.start_values import START
from inference.isa.x86.addresses import addresses_of

_FREE = ("rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11")
_WIDE = st.sampled_from(_FREE)
_NARROW = st.sampled_from(("eax", "ecx", "r8d", "r9d", "ax", "dx", "r8w", "al", "cl", "ah", "dh", "r9b"))
_NUMBER = st.integers(-128, 127)
_ITERATIONS = range(4, 71)
"""How many are interpreted: more than the first where addresses move by another distance each time."""


def block(code: str) -> Block:
    (found,) = read_blocks(code, 1)
    return found


def addresses(code: str, *, alike: bool = True) -> list[InstructionAddresses]:
    return addresses_of([one.code for one in block(code).instructions], equal_start=alike)


def memory(code: str, *, alike: bool = True) -> list[BlockAddress]:
    """Of the accesses to memory."""
    lines = zip(block(code).instructions, addresses(code, alike=alike), strict=True)
    return [at.memory for one, at in lines if at.memory is not None and not one.text.startswith("lea")]


def _line(name: str, *operands: object) -> str:
    return f"{name} {', '.join(map(str, operands))}"


def _instruction() -> st.SearchStrategy[str]:
    two = st.sampled_from(("add", "sub", "and", "or", "xor", "mov", "imul"))
    with_number = st.sampled_from(("add", "sub", "and", "or", "mov"))
    shift, one = st.sampled_from(("shl", "shr", "sar")), st.sampled_from(("inc", "dec", "neg", "not"))
    address = st.builds("[{}+{}*{}{:+}]".format, _WIDE, st.sampled_from((1, 2, 4, 8)), _WIDE, _NUMBER)
    extended = ("movsxd rdx, ecx", "movzx esi, cl", "movsx rdi, ax", "movzx ecx, ah")
    other = ("popcnt rsi, rdi", "cmp rax, rcx", "sbb rdx, rdx", "xchg rax, r8", "bswap r10")
    return st.one_of(
        st.builds(_line, two, _WIDE, _WIDE),
        st.builds(_line, with_number, _WIDE | _NARROW, _NUMBER),
        st.builds(_line, shift, _WIDE, st.integers(0, 63)),
        st.builds(_line, shift, st.just("r9d"), st.integers(0, 31)),
        st.builds(_line, one, _WIDE | _NARROW),
        st.builds(_line, st.just("lea"), _WIDE, address),
        st.sampled_from(extended + other),
    )


@pytest.mark.skipif(platform.machine() != "x86_64", reason="carries x86-64 out on the processor")
@given(st.lists(_instruction(), min_size=1, max_size=12))
def test_what_is_known_of_registers_is_what_the_processor_computes(lines: list[str]) -> None:
    body = block("\n".join(lines)).code
    looks = "\n".join(f"mov rbx, qword ptr [{name}]" for name in _FREE)
    told = memory("\n".join([*lines, looks]))
    known = {
        name: address.page * MEMORY_BYTES + address.offset
        for name, address in zip(_FREE, told[-len(_FREE) :], strict=True)
        if not address.parts
    }
    computed = [_carried_out(body, _ITERATIONS[0])]
    while not known.items() <= computed[-1].items() and len(computed) < len(_ITERATIONS):
        computed.append(_carried_out(body, _ITERATIONS[len(computed)]))
    assert known.items() <= computed[-1].items(), computed[0]


def _carried_out(body: bytes, iterations: int) -> dict[str, int]:
    """The registers after so many iterations that all began with `START`."""
    setting = "\n".join(f"mov {name}, {START}" for name in _FREE)
    keeping = "\n".join(f"mov qword ptr [rbx+{8 * place}], {name}" for place, name in enumerate(_FREE))
    before, after = block("push rbx\n" + setting).code, block(keeping + "\npop rbx").code
    found = (ctypes.c_uint64 * len(_FREE))()
    pages = GuardedPages(16384, executable=True)
    put = bytes.fromhex("48bb") + ctypes.addressof(found).to_bytes(8, "little")  # mov rbx, where to keep them
    pages.write_code(0, before + put + body * iterations + after + b"\xc3")(0, 0)
    return dict(zip(_FREE, found, strict=True))


def test_addresses_are_sums_of_what_registers_began_with() -> None:
    one, other = memory(
        "lea rbx, [rax+8]\nmov rcx, qword ptr [rax+16]\nmov rdx, qword ptr [rbx+8]", alike=False
    )
    assert (one.parts, one.offset, one.step) == (other.parts, other.offset, other.step)
    assert one.step == 0
    apart, moving = memory("mov rcx, qword ptr [rax]\nmov rdx, qword ptr [rsi]\nadd rsi, 24", alike=False)
    assert apart.parts != moving.parts
    assert (apart.step, moving.step) == (0, 24)


def test_where_all_begins_alike_pages_are_one() -> None:
    one, far = memory("mov rcx, qword ptr [rax+8]\nmov rdx, qword ptr [rbx+rsi*4+8]")
    assert one.offset == (START + 8) % MEMORY_BYTES
    assert far.offset == (START * 5 + 8) % MEMORY_BYTES
    assert one.page != far.page


@pytest.mark.parametrize(
    ("code", "offset"),
    [
        ("mov rdx, qword ptr [rsi+8]\nmov rax, qword ptr [rdx]", 0),  # memory holds what registers do
        ("mov rdx, qword ptr [rsi+4]\nmov rax, qword ptr [rdx]", START << 32),
        ("mov edx, dword ptr [rsi+8]\nmov rax, qword ptr [rdx]", 0),
        ("mov qword ptr [rdi+16], 0x20000\nmov rdx, qword ptr [rsi+16]\nmov rax, qword ptr [rdx]", 0x20000),
        ("mov byte ptr [rdi+17], 1\nmov rdx, qword ptr [rsi+16]\nmov rax, qword ptr [rdx]", 0x62340100),
        ("mov dword ptr [rdi], 512\nmov byte ptr [rdi+4], 1\nmov rdx, [rsi]\nmov rax, [rdx]", 0x100000200),
        ("mov rdx, rsi\ncmove rdx, rdi\nmov rax, qword ptr [rdx]", 0),  # whichever it is
        ("push rsi\npop rdx\nmov rax, qword ptr [rdx]", 0),
        ("xor edx, edx\nmov rax, qword ptr [rsi+rdx]", 0),
    ],
)  # fmt: skip
def test_what_is_loaded_is_known(code: str, offset: int) -> None:
    *_, last = memory(code)
    if offset < MEMORY_BYTES:
        assert (last.parts, last.offset) == ((), (START + offset) % MEMORY_BYTES)
    else:
        assert (last.parts, last.page * MEMORY_BYTES + last.offset) == ((), offset)
    assert last.step == 0


def test_addresses_are_those_of_an_index_that_has_become_zero() -> None:
    stored, loaded = memory("mov qword ptr [r8+rbx*8], rax\nshr rbx\nmov rcx, qword ptr [r9]")
    assert (stored.page, stored.offset, stored.step) == (loaded.page, loaded.offset, 0)


def test_a_distance_that_grows_with_every_iteration_is_unknown() -> None:
    (squares,) = memory("add rax, rbx\nadd rbx, 8\nmov rcx, qword ptr [rax]")
    assert squares.step is None


def test_the_same_computation_gives_the_same_unknown_and_another_one_does_not() -> None:
    code = "imul rax, rbx\nmov rcx, qword ptr [rax]\nmov rdx, qword ptr [rax+8]"
    one, other = memory(code, alike=False)
    assert (one.parts, other.offset - one.offset) == (other.parts, 8)
    assert one.step is None  # rax is another one in each iteration
    (steady,) = memory("mov rax, rsi\nimul rax, rbx\nmov rcx, qword ptr [rax]", alike=False)
    assert steady.step == 0
    (from_vector,) = memory("vmovq rax, xmm0\nmov rcx, qword ptr [rax]", alike=False)
    assert from_vector.step is None


def test_the_stack_is_memory_like_any_other() -> None:
    found = addresses("push rax\nmov rcx, qword ptr [rsp]\npop rdx", alike=False)
    pushed, loaded, popped = found[0].stack, found[1].memory, found[2].stack
    assert pushed == loaded == popped
    (push,) = addresses("push rax", alike=False)
    assert push.stack is not None
    assert push.stack.step == -8


def test_code_is_behind_itself_by_its_length_in_each_copy() -> None:
    found = accesses_of(block("mov rax, qword ptr [rip+0x100]\nmov qword ptr [rip+0x100], rax"))
    loaded, stored = found[0].reads[-1].memory, found[1].writes[0].memory
    assert loaded is not None
    assert stored is not None
    assert loaded.step == stored.step == 14
    assert stored.offset - loaded.offset == 7
