"""Machine code of x86-64 that nobody should run: random bytes, system calls, jumps, stray writes."""

from __future__ import annotations

import random

_ADD = b"\x48\x01\xd8"  # add rax, rbx
_ARGUMENTS = (b"\x48\xbf", b"\x48\xbe", b"\x48\xba", b"\x49\xba", b"\x49\xb8", b"\x49\xb9")
"""mov to rdi, rsi, rdx, r10, r8, r9: the registers of a system call's arguments."""

_POINTERS = (b"\x48\x89\xe7", b"\x48\x89\xe6", b"\x4c\x89\xf7", b"\x4c\x89\xf6")
"""mov rdi or rsi, rsp or r14."""

_STRAY = (
    b"\xf3\xaa",  # rep stosb
    b"\xf3\x48\xab",  # rep stosq
    b"\xf3\xa4",  # rep movsb
    b"\x48\x89\x04\x24",  # mov [rsp], rax
    b"\xc3",  # ret
    b"\xc9",  # leave
    b"\x5c",  # pop rsp
    b"\x9d",  # popfq
    b"\xfd",  # std
    b"\xff\xe0",  # jmp rax
    b"\xff\xd0",  # call rax
    b"\xcd\x80",  # int 0x80
    b"\x0f\x34",  # sysenter
    b"\xdb\xe3",  # fninit
    b"\xd9\x2c\x24",  # fldcw [rsp]
    b"\x0f\xae\x14\x24",  # ldmxcsr [rsp]
    b"\x64\x48\x89\x04\x25\x00\x00\x00\x00",  # mov fs:[0], rax
    b"\x48\x8d\x05\xf9\xff\xff\xff\xc6\x00\x90",  # lea rax, [rip-7]; mov byte [rax], nop
)


def draw(drawn: random.Random) -> tuple[str, bytes]:
    """(kind, a loop body of 1 to about 200 bytes)."""
    kind = drawn.choice(("random bytes", "random bytes", "system calls", "jumps", "stray"))
    if kind == "random bytes":
        return kind, drawn.randbytes(drawn.randint(1, 60)) * drawn.choice((1, 1, 3))
    if kind == "system calls":
        return kind, b"".join(_system_call(drawn) for _ in range(drawn.randint(1, 3)))
    if kind == "jumps":
        return kind, b"".join(_jump(drawn) + _ADD for _ in range(drawn.randint(1, 8)))
    parts = [drawn.choice((_ADD, drawn.choice(_STRAY), _set(drawn))) for _ in range(drawn.randint(1, 12))]
    return kind, b"".join(parts)


def _system_call(drawn: random.Random) -> bytes:
    number = drawn.choice((drawn.randrange(470), drawn.randrange(60), drawn.getrandbits(32)))
    return _some_arguments(drawn) + b"\xb8" + number.to_bytes(4, "little") + b"\x0f\x05"


def _some_arguments(drawn: random.Random) -> bytes:
    n = drawn.randint(0, 6)
    return b"".join(drawn.choice((_set(drawn), drawn.choice(_POINTERS), b"")) for _ in range(n))


def _set(drawn: random.Random) -> bytes:
    anything = drawn.getrandbits(drawn.choice((6, 16, 47, 64)))
    value = drawn.choice((0, 1, 3, 4096, -1, -100, anything, anything))
    return drawn.choice(_ARGUMENTS) + (value % 2**64).to_bytes(8, "little")


def _jump(drawn: random.Random) -> bytes:
    if drawn.random() < 0.5:
        return bytes([drawn.choice((0xEB, 0x70 + drawn.randrange(16)))]) + drawn.randbytes(1)
    return b"\xe9" + drawn.randint(-70_000, 70_000).to_bytes(4, "little", signed=True)
