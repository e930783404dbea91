"""Benchmarks of llvm-exegesis (YAML): core models written as such, and experiments or latencies read of them.

One document per snippet; see docs/formats.md. Written are the fields that every release from 13 on takes:
newer ones have other names for some, and read these. One file has one mode, since `llvm-exegesis
-mode=analysis` compares whatever it finds, without any counter. LLVM knows one latency per result, and takes
the scheduling class from the first instruction, so there is one, with the largest of its latencies.

Read are `key`, `measurements` and `error`, the same in all releases from 8 on; other fields around the
numbers differ. What LLVM calls an instruction `inference.isa` knows by llvm-mc.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inference.formats.document import (
    CYCLES_RANGE,
    ENTRY_LIMIT,
    PART,
    Document,
    ExperimentEntry,
    LatencyEntry,
    PairEntry,
    partial_document,
)
from inference.formats.exports import ExportedCore, ExportedScheme
from inference.formats.llvm_td import plainest_by_opcode
from inference.formats.problems import ExchangeError, Problems, excerpt
from inference.formats.quoting import comment, yaml_line
from inference.formats.source import Signature, Source
from inference.formats.yaml_documents import (
    FaultyFieldError,
    NamedSchemes,
    YamlDocument,
    facts_of_part,
    named_schemes,
    pairs_with_bound,
    pairs_with_latency,
    read_yaml,
    register_pairs,
    stated_pairs,
)
from inference.isa.llvm_schemes import LlvmScheme
from inference.isa.targets import target_of

LATENCY, THROUGHPUT, UOPS = "latency", "inverse_throughput", "uops"
MODES = (LATENCY, THROUGHPUT, UOPS)
_KEYS = {LATENCY: "latency", THROUGHPUT: "inverse_throughput", UOPS: "NumMicroOps"}
_TRIPLE, _ANY_CPU = "x86_64-unknown-linux-gnu", "x86-64"
_REPETITIONS = 10_000


@dataclass(frozen=True)
class LlvmInstances:
    """An instance of each scheme as llvm-exegesis writes it: `ADD64rr RBX RBX RBP`, and who named it."""

    by_text: Mapping[str, str]
    tool: str


def write_exegesis_yaml(core: ExportedCore, instances: LlvmInstances, mode: str) -> str:
    """The documents of one mode, one for each instruction of LLVM of which that is known.

    Raises `ExchangeError` for other instruction sets than x86-64.
    """
    if target_of(core.mapping.isa).snippets is None:
        raise ExchangeError(f"benchmarks of llvm-exegesis are written for x86-64, not for {core.mapping.isa}")
    return "".join([*_head(core, instances, mode), *_documents(core, instances, mode)])


def _head(core: ExportedCore, instances: LlvmInstances, mode: str) -> Iterator[str]:
    yield core.mapping.provenance.commented("#")
    remark = f"{mode} of one instruction each, as {instances.tool} calls them; others may do otherwise"
    yield comment("#", remark)
    yield (
        "# use: llvm-exegesis -mode=analysis -analysis-clustering=naive -benchmarks-file=FILE "
        "-analysis-inconsistencies-output-file=FILE.html\n"
    )


def _documents(core: ExportedCore, instances: LlvmInstances, mode: str) -> Iterator[str]:
    opcodes = {text: line.partition(" ")[0] for text, line in instances.by_text.items()}
    value_of = _VALUES[mode]
    cpu = core.mapping.tools.llvm or _ANY_CPU
    for scheme in plainest_by_opcode(core.mapping, opcodes).values():
        value = value_of(core, scheme)
        if value is not None:
            yield _document(core, scheme, instances.by_text[scheme.text], cpu, mode, value)


def _document(
    core: ExportedCore, scheme: ExportedScheme, instance: str, cpu: str, mode: str, value: float
) -> str:
    number = f"{value:.4g}"
    return f"""---
mode: {mode}
key:
  instructions:
    - {yaml_line(instance)}
  config: ''
  register_initial_values: []
cpu_name: {yaml_line(cpu)}
llvm_triple: {_TRIPLE}
num_repetitions: {_REPETITIONS}
measurements:
  - {{ key: {_KEYS[mode]}, value: {number}, per_snippet_value: {number} }}
error: ''
info: {yaml_line(core.line(scheme))}
...
"""


def _throughput(core: ExportedCore, scheme: ExportedScheme) -> float | None:
    """Measured alone, else what the mapping says; instructions that take no time say nothing."""
    measured = scheme.evidence.measured
    return (scheme.predicted if measured is None else measured) or None


def _latency(core: ExportedCore, scheme: ExportedScheme) -> float | None:
    return core.largest_latency(scheme.text)


def _uops(core: ExportedCore, scheme: ExportedScheme) -> float | None:
    """Issue slots, which is what LLVM's counters of µops count, where they are known."""
    return float(scheme.slots if core.mapping.value.issue_width is not None else scheme.count)


_VALUES: Mapping[str, Callable[[ExportedCore, ExportedScheme], float | None]] = {
    LATENCY: _latency,
    THROUGHPUT: _throughput,
    UOPS: _uops,
}


_BEGINNING = re.compile(rf"^mode:\s*'?({'|'.join(MODES)})\b", re.MULTILINE)
_MODE = re.compile(rf"^mode:\s*'?({'|'.join(MODES)})'?\s*$", re.MULTILINE)
_KEY = re.compile(r"^key:\s*$", re.MULTILINE)
SIGNATURE = Signature(patterns=(_BEGINNING, _KEY), within=1 << 16)
_COUNTER = "NumMicroOps"
_UOPS_ALONE = "µops per instruction are no experiment, which has cycles, and no port mapping, which has ports"
MOST_INSTRUCTIONS = 1000
"""In one snippet."""


@dataclass(frozen=True, slots=True)
class _Snippet:
    """A document whose instructions have schemes. `value` per instruction, `whole` for all of them."""

    line: int
    number: int
    mode: str
    instructions: tuple[LlvmScheme, ...]
    words: tuple[str, ...]
    value: float
    total: float
    info: str

    @property
    def place(self) -> str:
        return f"document {self.number}"


def _parts(source: Source) -> list[str]:
    """The modes in a file that something comes of, else that of µops."""
    modes = set(_MODE.findall(source.text))
    return [mode for mode in (THROUGHPUT, LATENCY) if mode in modes] or [UOPS]


def reads_throughput(source: Source) -> bool:
    """Whether inverse throughput is to be read of a file, not latency."""
    return (source.part or _parts(source)[0]) != LATENCY


def read_exegesis_throughput(source: Source) -> Document:
    """Experiments in cycles; counted µops of the same instruction go along as a counter."""
    facts = facts_of_part(source, _parts(source))
    if facts[PART] == UOPS:
        right = "import benchmarks of inverse_throughput: µops in the same file go along"
        source.at().add(_UOPS_ALONE, right)
        return Document(facts=facts)
    benchmarks = _read(source, (THROUGHPUT, UOPS))
    if benchmarks is None:
        return Document(facts=facts)
    uops_by_terms = {
        _terms(snippet): snippet.value for snippet in benchmarks.snippets if snippet.mode == UOPS
    }
    entries: dict[tuple[tuple[str, int], ...], ExperimentEntry] = {}
    dropped = benchmarks.dropped
    for snippet in benchmarks.snippets:
        if snippet.mode == UOPS:
            continue
        terms = _terms(snippet)
        alone = len(terms) == 1 and terms[0][1] == 1
        cycles = snippet.value if alone else snippet.total
        label = f"{'; '.join(name for name, _ in terms)}, {snippet.place}"
        low, high = CYCLES_RANGE
        if not low <= cycles <= high:
            dropped[label] = f"{cycles:g} cycles are no inverse throughput"
        elif terms in entries:
            dropped[label] = f"{entries[terms].column} measured the same before"
        else:
            counters = {"uops": uops_by_terms[terms]} if terms in uops_by_terms else {}
            entries[terms] = ExperimentEntry(snippet.line, snippet.place, terms, cycles, counters=counters)
    return partial_document(source.problems, facts | benchmarks.facts, dropped, experiments=entries.values())


def read_exegesis_latency(source: Source) -> Document:
    """Latencies: of one instruction the largest between registers that are the same in the snippet.

    Of a chain through several instructions, what it leaves for the first one is a bound.
    """
    facts = facts_of_part(source, _parts(source))
    benchmarks = _read(source, (LATENCY,))
    if benchmarks is None:
        return Document(facts=facts)
    entries: dict[str, LatencyEntry] = {}
    dropped = benchmarks.dropped
    for snippet in benchmarks.snippets:
        text = snippet.instructions[0].scheme.text
        label = f"{text}, {snippet.place}"
        pairs = _pairs(snippet)
        if text in entries:
            dropped[label] = f"{entries[text].column} measured the same scheme before"
        elif not pairs:
            dropped[label] = "no register leads to another one in it"
        elif not 0 <= snippet.value <= CYCLES_RANGE[1]:
            dropped[label] = f"{snippet.value:g} cycles are no latency"
        else:
            entries[text] = LatencyEntry(snippet.line, snippet.place, text, pairs)
    return partial_document(source.problems, facts | benchmarks.facts, dropped, latencies=entries.values())


@dataclass(frozen=True)
class _Benchmarks:
    """What a file has of some modes; `dropped`: {instruction: why it brings nothing}."""

    snippets: Sequence[_Snippet]
    dropped: dict[str, str]
    facts: dict[str, Any]


def _read(source: Source, modes: Sequence[str]) -> _Benchmarks | None:
    """None after noting what is wrong with the file."""
    problems = source.problems
    documents = read_yaml(source.text, problems)
    if len(documents) > ENTRY_LIMIT:
        problems.add(f"{len(documents):,} documents", f"at most {ENTRY_LIMIT:,} are read")
    if problems:
        return None
    raw = [
        parsed
        for benchmark in documents
        if (parsed := _raw_benchmark(benchmark, problems)) is not None and parsed.mode in modes
    ]
    if problems:
        return None
    opcodes = [line.split()[0] for benchmark in raw for line in benchmark.lines]
    named = named_schemes(opcodes, problems)
    if named is None:
        return None
    dropped: dict[str, str] = {}
    snippets = list(_snippets(raw, named, dropped))
    cpus = list(dict.fromkeys(benchmark.cpu for benchmark in raw if benchmark.cpu))
    facts: dict[str, Any] = {"isa": named.isa, "llvm": named.schemes.tool_version}
    if cpus:
        facts["arch"] = ", ".join(cpus)[:200]
    return _Benchmarks(snippets, dropped, facts)


@dataclass(frozen=True, slots=True)
class _RawBenchmark:
    line: int
    number: int
    mode: str
    lines: tuple[str, ...]
    numbers: dict[str, tuple[float, float | None]]
    error: str
    cpu: str
    info: str


def _raw_benchmark(document: YamlDocument, problems: Problems) -> _RawBenchmark | None:
    """The fields that count, or None after noting what is wrong with them."""
    place = f"document {document.number}"
    try:
        return _fields(document)
    except FaultyFieldError as fault:
        column = f"{place}, {fault.field}" if fault.field else place
        problems.add(str(fault), fault.right, row=fault.line or document.line, column=column)
        return None


def _fields(document: YamlDocument) -> _RawBenchmark:
    value = document.value
    if not isinstance(value, dict):
        right = "an object with mode, key and measurements is expected"
        raise FaultyFieldError(f"{excerpt(value)} is no benchmark", right, "")
    mode = value.get("mode")
    if mode not in MODES:
        raise FaultyFieldError(f"{excerpt(mode)} is no mode", f"{', '.join(MODES)} are known", "mode")
    key, error, cpu = (value.get(name) for name in ("key", "error", "cpu_name"))
    info = value.get("info")
    return _RawBenchmark(
        document.line,
        document.number,
        mode,
        _instructions(key.get("instructions") if isinstance(key, dict) else None),
        _measurements(value.get("measurements")),
        error.strip() if isinstance(error, str) else "",
        cpu if isinstance(cpu, str) and cpu.isprintable() else "",
        info if isinstance(info, str) else "",
    )


def _instructions(lines: object) -> tuple[str, ...]:
    field = "key, instructions"
    if not isinstance(lines, list) or not all(isinstance(line, str) and line.strip() for line in lines):
        right = "e.g. ['ADD64rr RAX RAX RBX'] is expected"
        raise FaultyFieldError("the instructions are not listed", right, field)
    if not 1 <= len(lines) <= MOST_INSTRUCTIONS:
        right = f"1 to {MOST_INSTRUCTIONS} are expected"
        raise FaultyFieldError(f"{len(lines)} instructions", right, field)
    return tuple(lines)


def _measurements(listed: object) -> dict[str, tuple[float, float | None]]:
    """{key: (value, value of the whole snippet)}."""
    field, right = "measurements", "[{ key: latency, value: 1.0 }] is expected"
    if not isinstance(listed, list | None):
        raise FaultyFieldError(f"{excerpt(listed)} is no list of measurements", right, field)
    numbers: dict[str, tuple[float, float | None]] = {}
    for measurement in listed or ():
        fields = measurement if isinstance(measurement, dict) else {}
        name, number = fields.get("key"), _number(fields.get("value"))
        if not isinstance(name, str) or number is None:
            line = getattr(measurement, "line", None)
            raise FaultyFieldError(f"{excerpt(measurement)} is no measurement", right, field, line)
        numbers[name] = number, _number(fields.get("per_snippet_value"))
    return numbers


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _snippets(
    raw: Sequence[_RawBenchmark], named: NamedSchemes, dropped: dict[str, str]
) -> Iterator[_Snippet]:
    schemes = named.schemes
    for benchmark in raw:
        label = f"{benchmark.lines[0][:80]}, document {benchmark.number}"
        matches = [schemes.find(line.split()) for line in benchmark.lines]
        instructions = tuple(match for match in matches if isinstance(match, LlvmScheme))
        numbers = benchmark.numbers.get(_COUNTER if benchmark.mode == UOPS else benchmark.mode)
        if benchmark.error or numbers is None:
            dropped[label] = f"it was not measured: {benchmark.error[:160] or 'no number'}"
        elif len(instructions) < len(matches):
            dropped[label] = next(match for match in matches if isinstance(match, str))
        else:
            value, snippet_value = numbers
            total = value * len(instructions) if snippet_value is None else snippet_value
            words = tuple(benchmark.lines[0].split())
            yield _Snippet(
                benchmark.line,
                benchmark.number,
                benchmark.mode,
                instructions,
                words,
                value,
                total,
                benchmark.info,
            )


def _terms(snippet: _Snippet) -> tuple[tuple[str, int], ...]:
    """What was measured; instances of one scheme alone are one of it."""
    counts = Counter(instruction.scheme.text for instruction in snippet.instructions)
    if len(counts) == 1:
        return ((next(iter(counts)), 1),)
    return tuple(counts.items())


def _pairs(snippet: _Snippet) -> tuple[PairEntry, ...]:
    """What our own exports tell pair by pair, else one number for the pairs that the snippet chains."""
    first = snippet.instructions[0]
    if stated := stated_pairs(snippet.info, first.scheme.text):
        return stated
    possible = register_pairs(first.scheme)
    chained = _chained(first, snippet.words)
    pairs = [pair for pair in possible if pair in chained] or possible
    if len({instruction.scheme.text for instruction in snippet.instructions}) == 1:
        return pairs_with_latency(pairs, snippet.value)
    other_count = len(snippet.instructions) - 1
    why = f"a chain with {', '.join(instruction.words[0] for instruction in snippet.instructions[1:4])}"
    return pairs_with_bound(pairs, snippet.total - other_count, why)


def _chained(first: LlvmScheme, words: Sequence[str]) -> set[tuple[str, str]]:
    """(source, destination) of explicit operands that are the same register in an instance."""
    by_register: dict[str, set[int]] = {}
    for place, word in enumerate(first.operands_of(words)):
        if place in first.registers:
            by_register.setdefault(word, set()).add(first.registers[place])
    groups = by_register.values()
    return {(str(a + 1), str(b + 1)) for group in groups for a in group for b in group}
