"""Writes snippets and benchmarks for llvm-exegesis; see docs/formats.md.

Snippets are the loop bodies of experiments and blocks, with the same registers and memory. `llvm-exegesis
-mode=inverse_throughput -execution-mode=subprocess -snippets-file=FILE` measures them where LLVM is 17 or
newer; older releases lack the memory annotations.

Benchmarks (YAML) are core models in the fields that every release from 13 on reads. A file has one mode,
since `llvm-exegesis -mode=analysis` compares all its documents without regard to counters. LLVM has one
latency per result and takes the scheduling class from a benchmark's first instruction: a benchmark has one
instruction, with the largest of its latencies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from inference.agent.protocol import Frame
from inference.core.experiment import Experiment
from inference.formats.exports import ExportedCore, ExportedScheme
from inference.formats.llvm_td import plainest_by_opcode
from inference.formats.problems import ExchangeError
from inference.formats.provenance import CITATION, PRODUCT
from inference.formats.quoting import assembly_comment, comment, yaml_line
from inference.isa.block_facets import SnippetRegisters, UsedRegister
from inference.isa.bodies import body_maker
from inference.isa.llvm_schemes import has_llvm_instances, llvm_side
from inference.isa.machine_bodies import CannotMeasureError
from inference.isa.start_values import StartValues
from inference.isa.targets import DEFAULT, X86, target_of

MEMORY_ADDRESS = 1 << 20
"""Where the snippet's memory is mapped: low, below the program and its stack."""

_COMMENT = "# LLVM-EXEGESIS-"
_PATTERN_BITS = 64  # of the value with which vectors are filled
_LOW_BITS = 0xFF
"""Bits of address registers that keep their start value: they may serve as a count as well."""


def write_exegesis(isa: str, experiment: Experiment, remarks: Sequence[str] = ()) -> str:
    """The snippet of an experiment, as text.

    Args:
        isa: x86-64; other instruction sets are refused.
        experiment: What is measured.
        remarks: Lines for the comment at the top, such as known measurements.

    Raises:
        ExchangeError: No code can be made for the experiment; the message has the reason.
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
        *_set_up(registers, body.code, frame, addresses),
        *llvm_side(isa).gnu_lines(body.code),
    ]
    return "\n".join(lines) + "\n"


def write_block_exegesis(
    code: bytes, schemes: Sequence[str], notes: Sequence[str], start: StartValues
) -> str:
    """The snippet of a basic block of x86-64, as text; base registers point into the snippet's memory.

    Args:
        code: Machine code.
        schemes: Schemes of its instructions, as far as known.
        notes: Lines for the comment at the top.
        start: Initial values of registers and memory. Bases and indices keep their lowest eight bits, which
            counts and alignment depend on.

    Raises:
        ExchangeError: The block cannot be written as a snippet.
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
        *map(assembly_comment, notes),
        "# use: llvm-exegesis -mode=inverse_throughput -execution-mode=subprocess -snippets-file=FILE",
        *_set_up(registers, code, _with_small_indices(registers, code, frame), registers.bases(code)),
        *llvm_side(DEFAULT).gnu_lines(code),
    ]
    return "\n".join(lines) + "\n"


def _with_small_indices(registers: SnippetRegisters, code: bytes, frame: Frame) -> Frame:
    """Cut index registers to their lowest bits, so that no access leaves the snippet's memory."""
    small = {name: frame.registers[name] & _LOW_BITS for name in registers.indices(code)}
    return replace(frame, registers={**frame.registers, **small})


def _set_up(
    registers: SnippetRegisters, code: bytes, frame: Frame, addresses: frozenset[str]
) -> Iterator[str]:
    """The comments by which llvm-exegesis sets registers and memory as the machine's frame does."""
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
    """Raises `ExchangeError` for instruction sets without snippets."""
    registers = target_of(isa).snippets
    if registers is None:
        raise ExchangeError(f"snippets for llvm-exegesis can be written for {X86} alone, not for {isa}")
    return registers


LATENCY, THROUGHPUT, UOPS = "latency", "inverse_throughput", "uops"
MODES = (LATENCY, THROUGHPUT, UOPS)
_KEYS = {LATENCY: "latency", THROUGHPUT: "inverse_throughput", UOPS: "NumMicroOps"}
_SYSTEM = "unknown-linux-gnu"
_REPETITIONS = 10_000


@dataclass(frozen=True)
class LlvmInstances:
    """{scheme: an instance as llvm-exegesis writes it, `ADD64rr RBX RBX RBP`}, and the tool that named it."""

    by_text: Mapping[str, str]
    tool_version: str


def write_exegesis_yaml(core: ExportedCore, instances: LlvmInstances, mode: str) -> str:
    """The benchmarks of one mode, as YAML.

    Args:
        core: A core model.
        instances: LLVM's names of its schemes.
        mode: One of `MODES`; opcodes without a number in this mode are omitted.

    Raises:
        ExchangeError: LLVM's registers of the core's instruction set are not known here.
    """
    if not has_llvm_instances(core.mapping.isa):
        raise ExchangeError(f"benchmarks of llvm-exegesis cannot be written for {core.mapping.isa}")
    return "".join([*_head(core, instances, mode), *_documents(core, instances, mode)])


def _head(core: ExportedCore, instances: LlvmInstances, mode: str) -> Iterator[str]:
    yield core.mapping.provenance.commented("#")
    remark = (
        f"{mode} of one instruction each, as {instances.tool_version} calls them; others may do otherwise"
    )
    yield comment("#", remark)
    yield (
        "# use: llvm-exegesis -mode=analysis -analysis-clustering=naive -benchmarks-file=FILE "
        "-analysis-inconsistencies-output-file=FILE.html\n"
    )


def _documents(core: ExportedCore, instances: LlvmInstances, mode: str) -> Iterator[str]:
    opcodes = {text: line.partition(" ")[0] for text, line in instances.by_text.items()}
    value_of = _VALUES[mode]
    side = llvm_side(core.mapping.isa)
    cpu = core.mapping.tools.llvm or side.cpu
    triple = f"{side.triple}-{_SYSTEM}"
    for scheme in plainest_by_opcode(core.mapping, opcodes).values():
        value = value_of(core, scheme)
        if value is not None:
            number = f"{value:.4g}"
            yield f"""---
mode: {mode}
key:
  instructions:
    - {yaml_line(instances.by_text[scheme.text])}
  config: ''
  register_initial_values: []
cpu_name: {yaml_line(cpu)}
llvm_triple: {triple}
num_repetitions: {_REPETITIONS}
measurements:
  - {{ key: {_KEYS[mode]}, value: {number}, per_snippet_value: {number} }}
error: ''
info: {yaml_line(core.line(scheme))}
...
"""


def _throughput(core: ExportedCore, scheme: ExportedScheme) -> float | None:
    """Cycles measured alone, else predicted by the mapping; None for instructions that take no time."""
    measured = scheme.evidence.measured
    return (scheme.predicted if measured is None else measured) or None


def _latency(core: ExportedCore, scheme: ExportedScheme) -> float | None:
    return core.largest_latency(scheme.text)


def _uops(core: ExportedCore, scheme: ExportedScheme) -> float | None:
    """Issue slots where known: what LLVM's µop counters count."""
    return float(scheme.slots if core.mapping.value.issue_width is not None else scheme.count)


_VALUES: Mapping[str, Callable[[ExportedCore, ExportedScheme], float | None]] = {
    LATENCY: _latency,
    THROUGHPUT: _throughput,
    UOPS: _uops,
}
