"""Filters of system calls, as programs in the kernel's packet-filter language (seccomp).

A filter is a sequence of questions. Each loads a word of the kernel's description of a call, or compares the
loaded word and jumps to a label; "" continues with the next question. `answers` are labels as well.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from inference.sandbox import kernel
from inference.sandbox.system_calls import number_of

NUMBER, CONVENTION = 0, 4
"""Offsets of the number of the call and of its calling convention."""

CONVENTIONS = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "riscv64": 0xC00000F3}
"""The kernel's number for the calling convention, by machine."""

ALLOW = 0x7FFF0000  # answers of a filter (SECCOMP_RET_…), with an error number in the low bits
KILL = 0x80000000
REFUSE = 0x00050000 | errno.EPERM
UNKNOWN = 0x00050000 | errno.ENOSYS
UNSUPPORTED = 0x00050000 | errno.EOPNOTSUPP
NO_TERMINAL = 0x00050000 | errno.ENOTTY

_PR_SET_SECCOMP = 22  # constants of linux/prctl.h and linux/seccomp.h
_SECCOMP_MODE_FILTER = 2
_SET_MODE_FILTER = 1
_SPEC_ALLOW = 4
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _ANSWER = 0x20, 0x15, 0x35, 0x45, 0x06  # operation codes of classic BPF
_FARTHEST = 255  # instructions that a jump can skip


class FilterInstruction(NamedTuple):
    """One instruction of a filter, which may have a label as the target of jumps."""

    code: int
    value: int
    if_so: str = ""
    if_not: str = ""
    label: str = ""


def argument(index: int) -> int:
    """The offset of an argument's lower word; `index` counts from 0."""
    return 16 + 8 * index


def load(place: int, label: str = "") -> FilterInstruction:
    return FilterInstruction(_LOAD, place, label=label)


def equal(value: int, if_so: str, if_not: str = "") -> FilterInstruction:
    """Compares the loaded word with a value.

    Args:
        value: 32 bits.
        if_so: Label to jump to where they are equal; "" for the next instruction.
        if_not: The same where they are not.
    """
    return FilterInstruction(_EQUAL, value, if_so, if_not)


def at_least(value: int, if_so: str) -> FilterInstruction:
    """Compares: the word is this value or more."""
    return FilterInstruction(_AT_LEAST, value, if_so)


def any_bit(bits: int, if_so: str, if_not: str) -> FilterInstruction:
    """Compares: the word has any of these bits."""
    return FilterInstruction(_ANY_BIT, bits, if_so, if_not)


def program(questions: Sequence[FilterInstruction], answers: Mapping[str, int]) -> bytes:
    """The machine code of a filter; questions end in a jump, or continue with the first answer.

    Raises `ValueError` where a label is unknown or farther away than 255 instructions.
    """
    positions = {insn.label: place for place, insn in enumerate(questions) if insn.label}
    positions |= {label: len(questions) + place for place, label in enumerate(answers)}

    def jump(position: int, label: str) -> int:
        if not label:
            return 0
        distance = positions.get(label, -1) - position - 1
        if not 0 <= distance <= _FARTHEST:
            raise ValueError(f"a filter cannot jump from question {position} to {label!r}")
        return distance

    codes = [
        struct.pack("HBBI", insn.code, jump(position, insn.if_so), jump(position, insn.if_not), insn.value)
        for position, insn in enumerate(questions)
    ]
    return b"".join([*codes, *(struct.pack("HBBI", _ANSWER, 0, 0, value) for value in answers.values())])


def install(filter_program: bytes, *, allow_speculation: bool = False) -> bool:
    """Make the kernel apply this filter to all further calls; needs `no_new_privileges`. It cannot be undone.

    `allow_speculation`: loads may still pass stores speculatively. Without it kernels before 5.16 forbid that
    to every process with a filter, which changes the time of a load behind a store.
    """
    buffer = ctypes.create_string_buffer(filter_program, len(filter_program))
    header = struct.pack("HxxxxxxQ", len(filter_program) // 8, ctypes.addressof(buffer))
    number = number_of("seccomp")
    if allow_speculation and number is not None:
        with contextlib.suppress(OSError):  # kernels before 4.17 know no such flag
            kernel.system_call(number, _SET_MODE_FILTER, _SPEC_ALLOW, ctypes.c_char_p(header))
            return True
    return kernel.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.c_char_p(header), 0, 0)
