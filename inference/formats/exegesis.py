"""An experiment as a snippet for llvm-exegesis: its loop body, with registers and memory set up alike.

`llvm-exegesis -mode=inverse_throughput -execution-mode=subprocess -snippets-file=FILE` measures it where LLVM
is 17 or newer: older releases know no memory annotations. See docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from inference.agent.protocol import Frame
from inference.core.experiment import Experiment
from inference.formats.problems import ExchangeError
from inference.formats.provenance import CITATION, PRODUCT
from inference.formats.quoting import assembly_comment
from inference.isa.bodies import body_maker
from inference.isa.facets import SnippetRegisters, UsedRegister
from inference.isa.llvm_schemes import llvm_side
from inference.isa.machine_bodies import CannotMeasureError
from inference.isa.start_values import StartValues
from inference.isa.targets import DEFAULT, X86, target_of

MEMORY_ADDRESS = 1 << 20
"""Where the snippet's memory is mapped: low, so that it does not meet the program or its stack."""

_COMMENT = "# LLVM-EXEGESIS-"
_PATTERN_BITS = 64
_LOW_BITS = 0xFF
"""Of what addresses memory, the bits that are as they were: a count may be read of them, too."""


def write_exegesis(isa: str, experiment: Experiment, remarks: Sequence[str] = ()) -> str:
    """The snippet. `measured`: lines that tell what is known of the experiment.

    Raises `ExchangeError` where there is no code for it, with the reason.
    """
    registers = _registers(isa)
    try:
        body = body_maker(isa).unroll(experiment.terms)
    except CannotMeasureError as error:
        raise ExchangeError(f"there is no code for this experiment: {error}") from None
    frame = registers.snippet_frame(experiment.schemes)
    addresses = frozenset(("rsi", frame.memory_register))
    lines = [
        f"# made by: {PRODUCT}",
        assembly_comment(f"experiment: {experiment}"),
        *map(assembly_comment, remarks),
        f"# cite: {CITATION}",
        f"# {body.copies} copies of the experiment: divide the result per snippet by {body.copies}",
        "# use: llvm-exegesis -mode=inverse_throughput -execution-mode=subprocess -snippets-file=FILE",
        *_set_up_lines(registers, body.code, frame, addresses),
        *llvm_side(isa).gnu_lines(body.code),
    ]
    return "\n".join(lines) + "\n"


def write_block_exegesis(
    code: bytes, schemes: Sequence[str], remarks: Sequence[str], start: StartValues
) -> str:
    """The snippet of a block of x86-64 with the registers that it ran with; bases lead to its memory.

    `schemes`: of its instructions, as far as they have one. `told`: lines about it. `start`: what registers
    and memory start with. Of a base or an index the lowest bits are kept, which counts and alignment rest on.
    """
    registers = _registers(DEFAULT)
    frame = replace(
        registers.snippet_frame(schemes),
        registers={name: value for name, value in start.registers.items() if name != "rsp"},
        vector=start.vector,
        memory=start.memory,
        clear_masks=not start.masks,
    )
    lines = [
        f"# made by: {PRODUCT}",
        *map(assembly_comment, remarks),
        "# use: llvm-exegesis -mode=inverse_throughput -execution-mode=subprocess -snippets-file=FILE",
        *_set_up_lines(registers, code, _with_small_indices(registers, code, frame), registers.bases(code)),
        *llvm_side(DEFAULT).gnu_lines(code),
    ]
    return "\n".join(lines) + "\n"


def _with_small_indices(registers: SnippetRegisters, code: bytes, frame: Frame) -> Frame:
    """Indices that lead out of the snippet's memory nowhere."""
    small = {name: frame.registers[name] & _LOW_BITS for name in registers.indices(code)}
    return replace(frame, registers={**frame.registers, **small})


def _set_up_lines(
    registers: SnippetRegisters, code: bytes, frame: Frame, addresses: frozenset[str]
) -> Iterator[str]:
    used = registers.used_registers(code, wide=bool(frame.mask_bits))
    if not addresses.isdisjoint(register.name for register in used):
        yield f"{_COMMENT}MEM-DEF memory {2 * frame.memory_bytes} {frame.memory:016x}"
        yield f"{_COMMENT}MEM-MAP memory {MEMORY_ADDRESS}"
    for register in used:
        name = register.name
        if name in addresses:
            lowest = frame.registers.get(name, 0) & _LOW_BITS
            yield f"{_COMMENT}DEFREG {name.upper()} {MEMORY_ADDRESS + frame.memory_bytes + lowest:x}"
        elif register.bank == "vector":
            yield f"{_COMMENT}DEFREG {name.upper()} {_vector(register, frame)}"
        elif register.bank == "mask":
            mask = 0 if frame.clear_masks else (1 << frame.mask_bits) - 1
            yield f"{_COMMENT}DEFREG {name.upper()} {mask:x}"
        elif register.bank == "mmx":
            yield f"{_COMMENT}DEFREG {name.upper()} {frame.vector:016x}"
        elif name in frame.registers:
            yield f"{_COMMENT}DEFREG {name.upper()} {frame.registers[name]:x}"


def _vector(register: UsedRegister, frame: Frame) -> str:
    pattern = frame.vectors.get(f"xmm{register.name[3:]}", frame.vector)
    return f"{pattern:016x}" * (register.bits // _PATTERN_BITS)


def _registers(isa: str) -> SnippetRegisters:
    """Raises `ExchangeError` where there are no snippets of an instruction set."""
    registers = target_of(isa).snippets
    if registers is None:
        raise ExchangeError(f"snippets for llvm-exegesis can be written for {X86} alone, not for {isa}")
    return registers
