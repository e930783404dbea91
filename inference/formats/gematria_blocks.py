"""Data sets of gematria (protocol buffers in text format) as blocks; see docs/formats.md.

Each source of throughputs is a column. Of several numbers of a source for one block, which are samples of
the same measurement, the median is kept. A block is its machine code, else its assembly, else it is put
together from its canonicalised instructions, which leave the encoding open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from statistics import median

from inference.formats.block_cells import HIGHEST
from inference.formats.block_entries import BlockEntries, BlockEntry
from inference.formats.blocks_csv import ROW_LIMIT
from inference.formats.experiment_csv import COLUMN_LIMIT
from inference.formats.problems import Problems, excerpt
from inference.formats.text_proto import Message, TextProtoError, Value, top_fields
from inference.isa.blocks import BlockError, block_of_text

TITLE = "blocks of gematria (text protobuf)"
BEGINNING = re.compile(
    rb"\A(?:\xef\xbb\xbf)?(?:\s*+#.*)*+\s*+(?:basic_blocks?|inverse_throughputs)\s*+:?\s*+[{<\[]"
)
_NOTES = 20  # about different sources that an import reports
_SPREAD = 0.1
"""Share by which the numbers of one source may differ before a note says so."""

_SIZES = {8: "byte", 16: "word", 32: "dword", 64: "qword"}
_FIXED_WIDTH = re.compile(r"m(8|16|32|64)(?:_|$)")  # MOVZX32rm8: the memory's own width
_WIDTH = re.compile(r"[A-Z]+?(8|16|32|64)(?=[A-Z]*[rmi_])")  # ADD64mi8, CVTSI642SDrm
_TO_ACCUMULATOR = re.compile(r"[A-Z]+(?:8|16|32|64)i\d+")  # CMP32i32
_ACCUMULATORS = ("al", "ax", "eax", "rax")
_COUNTS = {"CL": "cl", "r1": "1", "m1": "1"}
"""Ends of LLVM's names of shifts whose count is no explicit operand."""


class _UnreadableError(ValueError):
    """A block that says too little to be read. The message names what it lacks."""


def read_gematria(content: bytes, problems: Problems) -> BlockEntries:
    """Read a list of blocks with throughputs, or a single one; problems are noted."""
    text = content.decode("utf-8-sig", "surrogateescape")
    counts: Counter[str] = Counter()
    try:
        blocks = islice(_blocks(text), ROW_LIMIT + 1)
        entries = tuple(_entry(block, line, counts) for line, block in blocks)
    except TextProtoError as error:
        problems.add(str(error), "blocks of gematria in text format are expected", row=error.line)
        return BlockEntries(TITLE)
    return BlockEntries(
        TITLE, entries, notes=[f"{note}: {count:,}" for note, count in counts.most_common(_NOTES)]
    )


def _blocks(text: str) -> Iterator[tuple[int, Message]]:
    """(line, BasicBlockWithThroughputProto) of each block."""
    single: Message = {}
    for field in top_fields(text):
        if field.name == "basic_blocks" and isinstance(field.value, dict):
            yield field.line, field.value
        elif field.name in ("basic_block", "inverse_throughputs"):
            single.setdefault(field.name, []).append(field.value)
        else:
            raise TextProtoError(f"{excerpt(field.name)} is no field of a list of blocks", field.line)
    if single:
        yield 1, single


def _entry(message: Message, line: int, counts: Counter[str]) -> BlockEntry:
    answers: dict[str, float] = {}
    repeats: Counter[str] = Counter()
    try:
        for throughput in _messages(message, "inverse_throughputs"):
            numbers = [_number(value) for value in throughput.get("inverse_throughput_cycles", ())]
            name = _text(throughput, "source") or "throughput"
            repeats[name] += 1
            column = name if repeats[name] == 1 else f"{name} ({repeats[name]})"
            if column in answers or len(answers) > COLUMN_LIMIT:
                raise _UnreadableError(f"more numbers by {excerpt(name)} than can be told apart")
            if numbers:
                answers[column] = median(numbers)
            if numbers and max(numbers) > min(numbers) * (1 + _SPREAD):
                counts[f"blocks whose numbers by {name} differ by more than {_SPREAD:.0%}, median taken"] += 1
        blocks = list(_messages(message, "basic_block"))
        if len(blocks) != 1:
            raise _UnreadableError("it has no basic_block" if not blocks else "it has several basic_block")
        return BlockEntry(line, _cell(blocks[0], counts), answers)
    except _UnreadableError as fault:
        return BlockEntry(line, "", answers, fault=str(fault))


def _cell(block: Message, counts: Counter[str]) -> str:
    """The code of a block. Raises `_UnreadableError`."""
    instructions = list(_messages(block, "machine_instructions"))
    codes = [value for fields in instructions for value in fields.get("machine_code", ()) if value]
    if codes and len(codes) == len(instructions):
        return b"".join(code if isinstance(code, bytes) else b"" for code in codes).hex()
    texts = [_text(fields, "assembly") for fields in instructions]
    if instructions and all(texts):
        return "\n".join(texts)
    canonical = list(_messages(block, "canonicalized_instructions"))
    if not canonical:
        raise _UnreadableError("the block has neither machine code nor instructions")
    lines = [_assembly(fields, number) for number, fields in enumerate(canonical, start=1)]
    counts["blocks put together from canonicalised instructions, which leave the encoding open"] += 1
    return "\n".join(lines)


def _assembly(fields: Message, number: int) -> str:
    """A canonicalised instruction in Intel syntax. Raises `_UnreadableError` where it does not say enough."""
    llvm, mnemonic = _text(fields, "llvm_mnemonic"), _text(fields, "mnemonic").lower()
    outputs, inputs = (list(_messages(fields, name)) for name in ("output_operands", "input_operands"))
    has_memory = any("memory" in operand for operand in chain(outputs, inputs))
    size = _size(llvm) if has_memory else ""
    addresses = [size + _address(item) for operand in inputs for item in _messages(operand, "address")]
    if len(addresses) > 1:
        raise _UnreadableError(f"instruction {number}, {mnemonic}, has several addresses")
    written = [
        text for operand in outputs for text in (addresses if "memory" in operand else _plain(operand))
    ]
    read = [
        text
        for operand in inputs
        for text in (addresses if "address" in operand else _plain(operand))
        if not (text in addresses and text in written)
    ]
    read += [count for end, count in _COUNTS.items() if llvm.endswith(end) and count not in read]
    if _TO_ACCUMULATOR.fullmatch(llvm):
        implicit = _messages(fields, "implicit_input_operands")
        read = [*(text for operand in implicit for text in _plain(operand) if text in _ACCUMULATORS), *read]
    prefixes = [_as_text(value).lower() for value in fields.get("prefixes", ())]
    return _assemblable_line(" ".join([*prefixes, mnemonic]), written, read, number)


def _assemblable_line(mnemonic: str, written: Sequence[str], read: Sequence[str], number: int) -> str:
    """The line that can be assembled. Raises `_UnreadableError`.

    A register that is written and read is an operand on either side, but in the assembly only where the
    encoding has a place for each: `vaddps xmm0, xmm0, xmm1`, but `addps xmm0, xmm1`.
    """
    remaining = list(read)
    for operand in written:
        if operand in remaining:
            remaining.remove(operand)
    fault = ""
    for operands in ([*written, *read], [*written, *remaining]):
        line = f"{mnemonic} {', '.join(operands)}".rstrip()
        try:
            if len(block_of_text(line).instructions) == 1:
                return line
        except BlockError as error:
            fault = str(error)
    raise _UnreadableError(
        f"instruction {number}, {mnemonic}, is canonicalised and cannot be written: {fault}"
    )


def _plain(operand: Message) -> list[str]:
    """The text of a register or an immediate; [] for memory, whose address is another operand."""
    if "memory" in operand:
        return []
    if register := _text(operand, "register_name"):
        return [register.lower()]
    if "immediate_value" in operand:
        value = _integer(operand["immediate_value"][-1])
        return [str(value - (1 << 64) if value >= 1 << 63 else value)]
    raise _UnreadableError(f"an operand with {', '.join(operand) or 'nothing'} cannot be written")


def _address(address: Message) -> str:
    names = ("base_register", "index_register", "segment")
    base, index, segment = (_text(address, name).lower() for name in names)
    scale = _integer(address.get("scaling", ["1"])[-1]) or 1
    displacement = _integer(address.get("displacement", ["0"])[-1])
    terms = [base] * bool(base) + [f"{scale}*{index}"] * bool(index)
    offset = str(displacement) if not terms else f"{displacement:+}" if displacement else ""
    return f"{segment}:" * bool(segment) + f"[{'+'.join(terms)}{offset}]"


def _size(llvm: str) -> str:
    """`qword ptr ` of memory whose width LLVM's name tells; "" where the instruction has one only."""
    match = _FIXED_WIDTH.search(llvm) or _WIDTH.match(llvm)
    return f"{_SIZES[int(match[1])]} ptr " if match else ""


def _messages(message: Message, name: str) -> Iterator[Message]:
    return (value for value in message.get(name, ()) if isinstance(value, dict))


def _text(message: Message, name: str) -> str:
    return _as_text(message.get(name, [""])[-1])


def _as_text(value: Value) -> str:
    if isinstance(value, dict):
        raise _UnreadableError("a message where a text belongs")
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _integer(value: Value) -> int:
    try:
        return int(_as_text(value), 0)
    except ValueError:
        raise _UnreadableError(f"{excerpt(_as_text(value))} is no whole number") from None


def _number(value: Value) -> float:
    try:
        number = float(_as_text(value))
    except ValueError:
        number = -1.0
    if not 0 <= number <= HIGHEST:
        raise _UnreadableError(f"{excerpt(_as_text(value))} can be no number of cycles")
    return number
