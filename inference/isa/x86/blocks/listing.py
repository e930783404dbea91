"""Machine code as assembly text that reads back to the very same bytes, one instruction a line.

An instruction that an assembler would encode otherwise has a pseudo prefix that asks for its encoding
(`{load} add rax, rbx`), or stands as numbers: `.byte 0x48, 0x03, 0xc3 # add rax, rbx`.
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
"""Who writes it, for the identity of answers that depend on the text."""

_WISHES = (
    *("{load}", "{store}", "{disp32}", "{disp8}", "{vex3}", "{evex}", "{vex}", "data16", "rex.w"),
    *("{load} {disp32}", "{evex} {disp32}"),
)


def intel_of_bytes(code: bytes) -> tuple[str, ...]:
    """The instructions of machine code: `mov rcx, qword ptr [rax+8]`. Raises `BlockError`."""
    return _listed(code, "intel")


def att_of_bytes(code: bytes) -> tuple[str, ...]:
    """The instructions of machine code, sizes in their names: `movq 8(%rax), %rcx`. Raises `BlockError`."""
    return _listed(code, "att")


def plain_att_of_bytes(code: bytes) -> tuple[str, ...]:
    """The same for tools that know instructions alone: an assembler may choose another encoding of some."""
    return tuple(_formatter("att").format(one) for one in _decoded(code))


@lru_cache(maxsize=1 << 16)
def text_of(code: bytes, syntax: str) -> str:
    """One instruction that is no jump of a loop, "intel" or "att"."""
    one = Decoder(64, code, ip=ADDRESS_OF_CODE).decode()
    plain = _formatter(syntax).format(one)
    if _reads_back(plain, code, syntax):
        return plain
    for wish in _WISHES:
        if _reads_back(wished := f"{wish} {plain}", code, syntax):
            return wished
    return f".byte {', '.join(f'{byte:#04x}' for byte in code)} # {plain}"


def closing_text(code: bytes, body: int) -> str:
    """The jump that closes a loop over so many bytes."""
    name = MNEMONICS[Decoder(64, code).decode().mnemonic]
    shortest = next(
        (
            found
            for bits in (8, 32)
            if body + (size := len(encode_jump(name, 0, bits) or b"")) <= 2 ** (bits - 1)
            and size
            and (found := encode_jump(name, -(body + size), bits))
        ),
        b"",
    )
    return f"{name} {LABEL}" if shortest == code else f"{{disp32}} {name} {LABEL}"


def closed(body: bytes, jump: bytes) -> bytes | None:
    """The body with a jump of the same condition back to its first byte, as short as can be.

    None where such a jump cannot lead so far, as `loop` and `jrcxz` cannot beyond 128 bytes.
    """
    mnemonic = MNEMONICS[Decoder(64, jump).decode().mnemonic]
    for bits in (8, 32):
        size = len(encode_jump(mnemonic, 0, bits) or b"")
        if size and len(body) + size <= 2 ** (bits - 1):
            return body + (encode_jump(mnemonic, -(len(body) + size), bits) or b"")
    return None


def closing_of(instruction: Instruction, code: bytes) -> bool:
    """Whether the last instruction of some code jumps back to its first."""
    step = step_of(instruction, code)
    return step.target == ADDRESS_OF_CODE and step.address != ADDRESS_OF_CODE


def _reads_back(text: str, code: bytes, syntax: str) -> bool:
    try:
        return encode(read_statement(text, syntax, {})) == code
    except BlockError:
        return False


def _listed(code: bytes, syntax: str) -> tuple[str, ...]:
    found = []
    instructions = _decoded(code)
    for one in instructions:
        begin = one.ip - ADDRESS_OF_CODE
        own = code[begin : begin + one.len]
        if one.ip == instructions[-1].ip and closing_of(one, own):
            found.append(closing_text(own, begin))
            found[0] = f"{LABEL}: {found[0]}"
        else:
            found.append(text_of(own, syntax))
    return tuple(found)


def _decoded(code: bytes) -> list[Instruction]:
    found = []
    for one in Decoder(64, code, ip=ADDRESS_OF_CODE):
        if one.is_invalid:
            begin = one.ip - ADDRESS_OF_CODE
            raise BlockError(f"the bytes from number {begin + 1} on are no instruction of x86-64")
        found.append(one)
    return found


@cache
def _formatter(syntax: str) -> Formatter:
    if syntax == "att":
        found = Formatter(FormatterSyntax.GAS)
        found.gas_show_mnemonic_size_suffix = True
        found.space_after_operand_separator = True
        found.rip_relative_addresses = True
        return found
    found = Formatter(FormatterSyntax.INTEL)
    found.space_after_operand_separator = True
    found.rip_relative_addresses = True
    found.memory_size_options = MemorySizeOptions.ALWAYS
    found.hex_prefix = "0x"
    found.hex_suffix = ""
    return found
