"""The forms in which programs take a basic block."""

from __future__ import annotations

from collections.abc import Callable

from inference.isa.blocks import att_of_bytes, between_markers, in_loop, intel_of_bytes, object_file

INTEL, ATT, HEX, BYTES, OBJECT = "intel", "att", "hex", "bytes", "object"
FORMS = (INTEL, ATT, HEX, BYTES, OBJECT)
TEXTS = (INTEL, ATT, HEX)

NOTHING, LOOP, MARKERS = "nothing", "loop", "markers"
AROUND = (NOTHING, LOOP, MARKERS)

_SURROUNDED: dict[str, Callable[[bytes], bytes]] = {LOOP: in_loop, MARKERS: between_markers}


def surrounded(code: bytes, around: str) -> bytes:
    """The block in a loop, between markers, or as it is. Raises `BlockError`."""
    return _SURROUNDED[around](code) if around in _SURROUNDED else code


def line_of(code: bytes, form: str) -> str:
    """The block in one line of text: digits, or instructions parted by semicolons. Raises `BlockError`."""
    if form == HEX:
        return code.hex()
    return "; ".join(att_of_bytes(code) if form == ATT else intel_of_bytes(code))


def content_of(code: bytes, form: str) -> bytes:
    """The block as the content of a file; Intel syntax says that it is. Raises `BlockError`."""
    if form == BYTES:
        return code
    if form == OBJECT:
        return object_file(code)
    if form == HEX:
        return f"{code.hex()}\n".encode()
    if form == ATT:
        return ("\n".join(att_of_bytes(code)) + "\n").encode()
    return ("\n".join((".intel_syntax noprefix", *intel_of_bytes(code))) + "\n").encode()
