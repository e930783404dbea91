"""An experiment as a snippet for llvm-exegesis: its loop body, with registers and memory set up alike.

`llvm-exegesis -mode=inverse_throughput -execution-mode=subprocess -snippets-file=FILE` measures it where LLVM
is 17 or newer: older releases know no memory annotations. See docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import cast

from iced_x86 import Decoder, InstructionInfoFactory, Register, RegisterExt, UsedMemory

from inference.agent.protocol import Frame
from inference.core.experiment import Experiment
from inference.core.protocols import Json
from inference.formats.provenance import CITATION, PRODUCT
from inference.formats.quoting import assembly_comment
from inference.isa.blocks import BlocksOfText, Piece
from inference.isa.start_values import StartValues
from inference.isa.unrolling import CannotMeasureError
from inference.isa.x86.assembling import unroll
from inference.isa.x86.att import listed
from inference.isa.x86.iced_types import RegisterValue
from inference.isa.x86.instances import ADDRESS_OF_CODE, register_names
from inference.isa.x86.scheme_set import described
from inference.isa.x86.surroundings import Surroundings, needs
from inference.storage.errors import ExchangeError
from inference.storage.instruction_sets import X86

# What a text of code was read to, as one JSON object: `manage.py decode --json` and `POST /api/decode`.


def decoded_json(reading: BlocksOfText) -> Json:
    """`blocks`: see `_piece_json`; `skipped`: how many lines or statements were passed over.

    `dropped`: the lines that look like code and are in no block.
    """
    return {
        "blocks": [_piece_json(one) for one in reading.pieces],
        "skipped": reading.skipped,
        "dropped": [asdict(one) for one in reading.dropped],
    }


def _piece_json(piece: Piece) -> Json:
    """`hex` and `schemes` are of the body: of a loop, the jump that closes it is in `text` alone."""
    return {
        "name": piece.name,
        "kind": piece.block.kind,
        "hex": piece.block.body.hex(),
        "text": piece.block.text,
        "schemes": [one.scheme for one in piece.block.instructions],
        "notes": list(piece.notes),
    }


MEMORY_ADDRESS = 1 << 20
"""Where the snippet's memory is mapped: low, so that it does not meet the program or its stack."""

_COMMENT = "# LLVM-EXEGESIS-"
_PATTERN_BITS = 64
_LOWEST = 0xFF
"""Of what addresses memory, the bits that are as they were: a count may be read of them, too."""


def write_exegesis(isa: str, experiment: Experiment, measured: Sequence[str] = ()) -> str:
    """The snippet. `measured`: lines that tell what is known of the experiment.

    Raises `ExchangeError` where there is no code for it, with the reason.
    """
    if isa != X86:
        raise ExchangeError(f"snippets for llvm-exegesis can be written for {X86} alone, not for {isa}")
    try:
        body = unroll(experiment.terms)
    except CannotMeasureError as error:
        raise ExchangeError(f"there is no code for this experiment: {error}") from None
    frame = _frame(experiment.schemes)
    addresses = frozenset(("rsi", frame.memory_register))
    lines = [
        f"# made by: {PRODUCT}",
        assembly_comment(f"experiment: {experiment}"),
        *map(assembly_comment, measured),
        f"# cite: {CITATION}",
        f"# {body.copies} copies of the experiment: divide the result per snippet by {body.copies}",
        "# use: llvm-exegesis -mode=inverse_throughput -execution-mode=subprocess -snippets-file=FILE",
        *_set_up(body.code, frame, addresses),
        *listed(body.code),
    ]
    return "\n".join(lines) + "\n"


def write_block_exegesis(code: bytes, schemes: Sequence[str], told: Sequence[str], start: StartValues) -> str:
    """The snippet of a block of x86-64 with the registers that it ran with; bases lead to its memory.

    `schemes`: of its instructions, as far as they have one. `told`: lines about it. `start`: what registers
    and memory start with. Of a base or an index the lowest bits are kept, which counts and alignment rest on.
    """
    frame = replace(
        _frame(schemes),
        registers={name: value for name, value in start.registers.items() if name != "rsp"},
        vector=start.vector,
        memory=start.memory,
        clear_masks=not start.masks,
    )
    lines = [
        f"# made by: {PRODUCT}",
        *map(assembly_comment, told),
        "# use: llvm-exegesis -mode=inverse_throughput -execution-mode=subprocess -snippets-file=FILE",
        *_set_up(code, _with_small_indices(code, frame), _bases(code)),
        *listed(code),
    ]
    return "\n".join(lines) + "\n"


def _bases(code: bytes) -> frozenset[str]:
    """The registers that the code addresses memory by; the stack pointer leads to memory by itself."""
    return _general(place.base for place in _accesses(code))


def _with_small_indices(code: bytes, frame: Frame) -> Frame:
    """Indices that lead out of the snippet's memory nowhere."""
    indices = _general(place.index for place in _accesses(code))
    small = {name: frame.registers[name] & _LOWEST for name in indices}
    return replace(frame, registers={**frame.registers, **small})


def _accesses(code: bytes) -> list[UsedMemory]:
    factory = InstructionInfoFactory()
    decoder = Decoder(64, code, ip=ADDRESS_OF_CODE)
    return [place for instruction in decoder for place in factory.info(instruction).used_memory()]


def _general(registers: Iterable[RegisterValue]) -> frozenset[str]:
    names = register_names()
    whole = {RegisterExt.full_register(register) for register in registers if RegisterExt.is_gpr(register)}
    return frozenset(names[register] for register in whole) - {"rsp"}


def _frame(schemes: Sequence[str]) -> Frame:
    """What the harness of this project puts around the same code, on a processor that has all of it."""
    found = [known[0] for text in schemes if (known := described(text)) is not None]
    legacy = any("legacy" in needs(scheme) for scheme in found)
    return Surroundings.of(found, avx=not legacy, flags={"avx512bw"}).frame


def _set_up(code: bytes, frame: Frame, addresses: frozenset[str]) -> Iterator[str]:
    names = register_names()
    used = [_as_wide_as(register, frame) for register in _used(code)]
    if not addresses.isdisjoint(names[register] for register in used):
        yield f"{_COMMENT}MEM-DEF memory {2 * frame.memory_bytes} {frame.memory:016x}"
        yield f"{_COMMENT}MEM-MAP memory {MEMORY_ADDRESS}"
    for register in used:
        name = names[register]
        if name in addresses:
            lowest = frame.registers.get(name, 0) & _LOWEST
            yield f"{_COMMENT}DEFREG {name.upper()} {MEMORY_ADDRESS + frame.memory_bytes + lowest:x}"
        elif RegisterExt.is_vector_register(register):
            yield f"{_COMMENT}DEFREG {name.upper()} {_vector(register, name, frame)}"
        elif RegisterExt.is_k(register):
            mask = 0 if frame.clear_masks else (1 << frame.mask_bits) - 1
            yield f"{_COMMENT}DEFREG {name.upper()} {mask:x}"
        elif RegisterExt.is_mm(register):
            yield f"{_COMMENT}DEFREG {name.upper()} {frame.vector:016x}"
        elif name in frame.registers:
            yield f"{_COMMENT}DEFREG {name.upper()} {frame.registers[name]:x}"


def _as_wide_as(register: RegisterValue, frame: Frame) -> RegisterValue:
    """The register itself, its lower half where all it does in the upper one is to be cleared."""
    if frame.mask_bits or not _is_zmm(register):
        return register
    return cast("RegisterValue", Register.YMM0 + register - Register.ZMM0)


def _is_zmm(register: RegisterValue) -> bool:
    return Register.ZMM0 <= register <= Register.ZMM31


def _vector(register: RegisterValue, name: str, frame: Frame) -> str:
    pattern = frame.vectors.get(f"xmm{name[3:]}", frame.vector)
    return f"{pattern:016x}" * (8 * RegisterExt.size(register) // _PATTERN_BITS)


def _used(code: bytes) -> list[RegisterValue]:
    """The registers that the code reads or writes, whole general-purpose ones, vectors as wide as used."""
    factory = InstructionInfoFactory()
    widest: dict[RegisterValue, RegisterValue] = {}
    for one in Decoder(64, code, ip=ADDRESS_OF_CODE):
        for use in factory.info(one).used_registers():
            register = use.register
            if RegisterExt.is_gpr(register):
                register = RegisterExt.full_register(register)
            whole = RegisterExt.full_register(register)
            best = widest.get(whole)
            if best is None or RegisterExt.size(register) > RegisterExt.size(best):
                widest[whole] = register
    return [widest[whole] for whole in sorted(widest)]
