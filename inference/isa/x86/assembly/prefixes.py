"""Prefixes as words before a mnemonic, and their bytes before the code."""

from __future__ import annotations

from collections.abc import Sequence

PREFIX_BYTES = {
    "lock": 0xF0, "rep": 0xF3, "repe": 0xF3, "repz": 0xF3, "repne": 0xF2, "repnz": 0xF2, "data16": 0x66,
    "addr32": 0x67, "cs": 0x2E, "ss": 0x36, "ds": 0x3E, "es": 0x26, "fs": 0x64, "gs": 0x65, "bnd": 0xF2,
    "notrack": 0x3E, "xacquire": 0xF2, "xrelease": 0xF3, "hnt": 0x2E, "ht": 0x3E, "rex": 0x40, "rex.b": 0x41,
    "rex.x": 0x42, "rex.xb": 0x43, "rex.r": 0x44, "rex.rb": 0x45, "rex.rx": 0x46, "rex.rxb": 0x47,
    "rex.w": 0x48, "rex.wb": 0x49, "rex.wx": 0x4A, "rex.wxb": 0x4B, "rex.wr": 0x4C, "rex.wrb": 0x4D,
    "rex.wrx": 0x4E, "rex.wrxb": 0x4F, "rex64": 0x48, "data64": 0x48,
}  # fmt: skip
"""{prefix: its byte}."""

PSEUDO_PREFIXES = frozenset(
    {"{vex}", "{vex2}", "{vex3}", "{evex}", "{load}", "{store}", "{disp8}", "{disp32}"}
)
"""Requests for one of several encodings, as in GNU's assembler."""

PREFIXES = frozenset({*PREFIX_BYTES, *PSEUDO_PREFIXES, "data32", "addr64"})
"""All prefixes, including those that have no effect in 64-bit code."""

REPEATING = (0xF2, 0xF3)  # REPNE and REP
_LOCK = 0xF0
_OPERAND_SIZE = b"\x66"
_LEGACY = frozenset({0xF0, 0xF2, 0xF3, 0x66, 0x67, 0x2E, 0x36, 0x3E, 0x26, 0x64, 0x65})
"""All prefixes of one byte but REX."""


def is_prefix(word: str) -> bool:
    """Whether the word is a prefix, pseudo prefixes of GNU's assembler included; in any case."""
    return word.lower() in PREFIXES


def repetition_of(prefixes: Sequence[str]) -> int:
    """The byte of the last prefix with a repetition's byte; 0 without."""
    return next((byte for name in reversed(prefixes) if (byte := PREFIX_BYTES.get(name, 0)) in REPEATING), 0)


def with_prefixes(code: bytes, prefixes: Sequence[str]) -> bytes:
    """The encoder's code, which contains `lock` and the last repetition, with all other prefixes."""
    if not prefixes:
        return code
    legacy = bytearray()
    extension = repeated = 0
    for name in reversed(prefixes):
        byte = PREFIX_BYTES.get(name, _LOCK)
        if byte in REPEATING:
            repeated += 1
            if repeated == 1:
                continue
        if byte & 0xF0 == 0x40:
            extension |= byte
        elif byte != _LOCK:
            legacy.insert(0, byte)
    prefix_bytes, opcode_bytes = _split_prefixes(code)
    if extension:
        has_rex = opcode_bytes[0] & 0xF0 == 0x40
        opcode_bytes = bytes([extension | (opcode_bytes[0] if has_rex else 0)]) + opcode_bytes[has_rex:]
    return bytes(legacy) + prefix_bytes + opcode_bytes


def as_padding(code: bytes, length: int) -> bytes:
    """A no-op with operand-size prefixes up to this length, as assemblers pad."""
    prefix_bytes, opcode_bytes = _split_prefixes(code)
    sizes = prefix_bytes.count(_OPERAND_SIZE) + max(length - len(code), 0)
    return _OPERAND_SIZE * sizes + prefix_bytes.replace(_OPERAND_SIZE, b"") + opcode_bytes


def _split_prefixes(code: bytes) -> tuple[bytes, bytes]:
    opcode_at = next(number for number, byte in enumerate(code) if byte not in _LEGACY)
    return code[:opcode_at], code[opcode_at:]
