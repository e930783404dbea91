"""Machine code as assembly that reads back to the same bytes, one instruction per line.

An instruction that an assembler would encode otherwise has a pseudo prefix for its encoding (`{load} add rax,
rbx`), or is written as numbers: `.byte 0x48, 0x03, 0xc3 # add rax, rbx`.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.metadata import version

from iced_x86 import Decoder, Formatter, FormatterSyntax, Instruction, MemorySizeOptions

from inference.isa.code.block import LABEL, BlockError
from inference.isa.x86.assembly.encoding import encode, encode_jump
from inference.isa.x86.assembly.statements import read_statement
from inference.isa.x86.control_flow import step_of
from inference.isa.x86.forms import MNEMONICS
from inference.isa.x86.instances import ADDRESS_OF_CODE

ASSEMBLY = f"iced-x86 {version('iced-x86')}"
"""The writer of the texts with its version, for the identity of answers that depend on them."""

_ENCODING_PREFIXES = (
    *("{load}", "{store}", "{disp32}", "{disp8}", "{vex3}", "{evex}", "{vex}", "data16", "rex.w"),
    *("{load} {disp32}", "{evex} {disp32}"),
)


def intel_of_bytes(code: bytes) -> tuple[str, ...]:
    """The instructions in Intel syntax: `mov rcx, qword ptr [rax+8]`. Raises `BlockError`."""
    return _list_lines(code, "intel")


def att_of_bytes(code: bytes) -> tuple[str, ...]:
    """The instructions in AT&T syntax with size suffixes: `movq 8(%rax), %rcx`. Raises `BlockError`."""
    return _list_lines(code, "att")


def plain_att_of_bytes(code: bytes) -> tuple[str, ...]:
    """AT&T syntax without pseudo prefixes and numbers: an assembler may choose other encodings."""
    return tuple(_formatter("att").format(instruction) for instruction in _decode(code))


@lru_cache(maxsize=1 << 16)
def text_of(code: bytes, syntax: str) -> str:
    """One instruction other than a loop's jump; `syntax` is "intel" or "att"."""
    instruction = Decoder(64, code, ip=ADDRESS_OF_CODE).decode()
    plain = _formatter(syntax).format(instruction)
    if _reads_back(plain, code, syntax):
        return plain
    for prefix in _ENCODING_PREFIXES:
        if _reads_back(prefixed := f"{prefix} {plain}", code, syntax):
            return prefixed
    return f".byte {', '.join(f'{byte:#04x}' for byte in code)} # {plain}"


def closing_text(code: bytes, body: int) -> str:
    """The jump that closes a loop with a body of so many bytes."""
    name = MNEMONICS[Decoder(64, code).decode().mnemonic]
    shortest = next(
        (
            jump
            for bits in (8, 32)
            if body + (size := len(encode_jump(name, 0, bits) or b"")) <= 2 ** (bits - 1)
            and size
            and (jump := encode_jump(name, -(body + size), bits))
        ),
        b"",
    )
    return f"{name} {LABEL}" if shortest == code else f"{{disp32}} {name} {LABEL}"


def close_loop(body: bytes, jump: bytes) -> bytes | None:
    """The body with the shortest jump of the same condition back to its first byte.

    None where such a jump cannot reach so far, as `loop` and `jrcxz` cannot beyond 128 bytes.
    """
    mnemonic = MNEMONICS[Decoder(64, jump).decode().mnemonic]
    for bits in (8, 32):
        size = len(encode_jump(mnemonic, 0, bits) or b"")
        if size and len(body) + size <= 2 ** (bits - 1):
            return body + (encode_jump(mnemonic, -(len(body) + size), bits) or b"")
    return None


def is_closing(instruction: Instruction, code: bytes) -> bool:
    """Whether the last instruction of some code jumps back to its first."""
    step = step_of(instruction, code)
    return step.target == ADDRESS_OF_CODE and step.address != ADDRESS_OF_CODE


def _reads_back(text: str, code: bytes, syntax: str) -> bool:
    try:
        return encode(read_statement(text, syntax, {})) == code
    except BlockError:
        return False


def _list_lines(code: bytes, syntax: str) -> tuple[str, ...]:
    lines = []
    instructions = _decode(code)
    for instruction in instructions:
        start = instruction.ip - ADDRESS_OF_CODE
        own_code = code[start : start + instruction.len]
        if instruction.ip == instructions[-1].ip and is_closing(instruction, own_code):
            lines.append(closing_text(own_code, start))
            lines[0] = f"{LABEL}: {lines[0]}"
        else:
            lines.append(text_of(own_code, syntax))
    return tuple(lines)


def _decode(code: bytes) -> list[Instruction]:
    instructions = []
    for instruction in Decoder(64, code, ip=ADDRESS_OF_CODE):
        if instruction.is_invalid:
            begin = instruction.ip - ADDRESS_OF_CODE
            raise BlockError(f"the bytes from number {begin + 1} on are no instruction of x86-64")
        instructions.append(instruction)
    return instructions


@cache
def _formatter(syntax: str) -> Formatter:
    if syntax == "att":
        formatter = Formatter(FormatterSyntax.GAS)
        formatter.gas_show_mnemonic_size_suffix = True
        formatter.space_after_operand_separator = True
        formatter.rip_relative_addresses = True
        return formatter
    formatter = Formatter(FormatterSyntax.INTEL)
    formatter.space_after_operand_separator = True
    formatter.rip_relative_addresses = True
    formatter.memory_size_options = MemorySizeOptions.ALWAYS
    formatter.hex_prefix = "0x"
    formatter.hex_suffix = ""
    return formatter
