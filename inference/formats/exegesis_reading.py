"""Reads benchmarks of llvm-exegesis (YAML) as experiments or latencies; see docs/formats.md.

A benchmark is one YAML document. Used are `key`, `measurements` and `error`, which are the same in all
releases from 8 on. `inference.isa` maps LLVM's names of instructions to schemes by llvm-mc.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
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
    with_contradictions,
    with_second_values,
)
from inference.formats.doubts import DoubtList
from inference.formats.exegesis import LATENCY, MODES, THROUGHPUT, UOPS
from inference.formats.problems import Problems, excerpt
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

_BEGINNING = re.compile(rf"^mode:\s*'?({'|'.join(MODES)})\b", re.MULTILINE)
"""`mode: latency`, by which the file is recognised."""

_MODE = re.compile(rf"^mode:\s*'?({'|'.join(MODES)})'?\s*$", re.MULTILINE)  # the same as a whole line
_KEY = re.compile(r"^key:\s*$", re.MULTILINE)
SIGNATURE = Signature(patterns=(_BEGINNING, _KEY), within=1 << 16)
_COUNTER = "NumMicroOps"
_UOPS_ALONE = "µops per instruction are no experiment, which has cycles, and no port mapping, which has ports"
MAX_INSTRUCTIONS = 1000
"""Instructions that one snippet may have."""


@dataclass(frozen=True, slots=True)
class _Snippet:
    """A benchmark whose instructions have schemes.

    Attributes:
        value: Cycles per instruction.
        total: Of them all.
    """

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
    """The modes of a file that can be imported, else `UOPS`."""
    modes = set(_MODE.findall(source.text))
    return [mode for mode in (THROUGHPUT, LATENCY) if mode in modes] or [UOPS]


def reads_throughput(source: Source) -> bool:
    return (source.part or _parts(source)[0]) != LATENCY


def read_exegesis_throughput(source: Source) -> Document:
    """Read inverse throughputs as experiments in cycles; µops of the same instruction become a counter."""
    facts = facts_of_part(source, _parts(source))
    if facts[PART] == UOPS:
        right = "import benchmarks of inverse_throughput: µops in the same file go along"
        source.at().add(_UOPS_ALONE, right)
        return Document(facts=facts)
    benchmarks = _read(source, (THROUGHPUT, UOPS))
    if benchmarks is None:
        return Document(facts=facts)
    uops = {_terms(snippet): snippet.value for snippet in benchmarks.snippets if snippet.mode == UOPS}
    entries: list[ExperimentEntry] = []
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
        else:
            counters = {"uops": uops[terms]} if terms in uops else {}
            entries.append(ExperimentEntry(snippet.line, snippet.place, terms, cycles, counters=counters))
    experiments = with_contradictions(entries)
    return partial_document(source.problems, facts | benchmarks.facts, dropped, experiments=experiments)


def read_exegesis_latency(source: Source) -> Document:
    """Read latencies between registers that are the same in the snippet.

    A chain through several instructions gives an upper bound for the first: the total minus a cycle for each
    of the others.
    """
    facts = facts_of_part(source, _parts(source))
    benchmarks = _read(source, (LATENCY,))
    if benchmarks is None:
        return Document(facts=facts)
    entries: dict[str, LatencyEntry] = {}
    doubts = DoubtList()
    dropped = benchmarks.dropped
    for snippet in benchmarks.snippets:
        text = snippet.instructions[0].scheme.text
        label = f"{text}, {snippet.place}"
        pairs = _pairs(snippet)
        if not pairs:
            dropped[label] = "no register leads to another one in it"
        elif not 0 <= snippet.value <= CYCLES_RANGE[1]:
            dropped[label] = f"{snippet.value:g} cycles are no latency"
        elif text in entries:
            entries[text] = with_second_values(entries[text], pairs, snippet.line, doubts)
        else:
            entries[text] = LatencyEntry(snippet.line, snippet.place, text, pairs)
    return partial_document(
        source.problems,
        facts | benchmarks.facts,
        dropped,
        latencies=entries.values(),
        doubts=doubts.kinds(),
    )


@dataclass(frozen=True)
class _Benchmarks:
    """The benchmarks of some modes. `dropped`: {instruction: why it cannot be used}."""

    snippets: Sequence[_Snippet]
    dropped: dict[str, str]
    facts: dict[str, Any]


def _read(source: Source, modes: Sequence[str]) -> _Benchmarks | None:
    """The benchmarks of these modes; None after noting a problem."""
    problems = source.problems
    documents = read_yaml(source.text, problems)
    if len(documents) > ENTRY_LIMIT:
        problems.add(f"{len(documents):,} documents", f"at most {ENTRY_LIMIT:,} are read")
    if problems:
        return None
    parsed = [_raw_benchmark(document, problems) for document in documents]
    raw = [benchmark for benchmark in parsed if benchmark is not None and benchmark.mode in modes]
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
    setting: str
    numbers: dict[str, tuple[float, float | None]]
    error: str
    cpu: str
    info: str


def _raw_benchmark(document: YamlDocument, problems: Problems) -> _RawBenchmark | None:
    """The fields that are read; None after noting a problem."""
    place = f"document {document.number}"
    try:
        return _fields(document)
    except FaultyFieldError as fault:
        column = f"{place}, {fault.field}" if fault.field else place
        problems.add(str(fault), fault.right, row=fault.line or document.line, column=column)
        return None


def _fields(document: YamlDocument) -> _RawBenchmark:
    """The fields of a benchmark document that matter here.

    Raises:
        FaultyFieldError: It is no benchmark, or a field is not what llvm-exegesis writes.
    """
    value = document.value
    if not isinstance(value, dict):
        right = "an object with mode, key and measurements is expected"
        raise FaultyFieldError(f"{excerpt(value)} is no benchmark", right, "")
    mode = value.get("mode")
    if mode not in MODES:
        raise FaultyFieldError(f"{excerpt(mode)} is no mode", f"{', '.join(MODES)} are known", "mode")
    key, error, cpu = (value.get(name) for name in ("key", "error", "cpu_name"))
    info, fields = value.get("info"), key if isinstance(key, dict) else {}
    setting = fields.get("config")
    return _RawBenchmark(
        document.line,
        document.number,
        mode,
        _instructions(fields.get("instructions")),
        setting if isinstance(setting, str) else "",
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
    if not 1 <= len(lines) <= MAX_INSTRUCTIONS:
        right = f"1 to {MAX_INSTRUCTIONS} are expected"
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
    """The measured snippets with known schemes; the others go to `dropped`, with reasons."""
    schemes = named.schemes
    for item in raw:
        label = f"{item.lines[0][:80]}, document {item.number}"
        matches = [schemes.find(line.split(), item.setting) for line in item.lines]
        instructions = tuple(match for match in matches if isinstance(match, LlvmScheme))
        numbers = item.numbers.get(_COUNTER if item.mode == UOPS else item.mode)
        if item.error or numbers is None:
            dropped[label] = f"it was not measured: {item.error[:160] or 'no number'}"
        elif len(instructions) < len(matches):
            dropped[label] = next(match for match in matches if isinstance(match, str))
        else:
            value, snippet_value = numbers
            total = value * len(instructions) if snippet_value is None else snippet_value
            words = tuple(item.lines[0].split())
            yield _Snippet(item.line, item.number, item.mode, instructions, words, value, total, item.info)


def _terms(snippet: _Snippet) -> tuple[tuple[str, int], ...]:
    """The experiment's terms; instances of one scheme count as one, since `value` is per instruction."""
    counts = Counter(instruction.scheme.text for instruction in snippet.instructions)
    if len(counts) == 1:
        return ((next(iter(counts)), 1),)
    return tuple(counts.items())


def _pairs(snippet: _Snippet) -> tuple[PairEntry, ...]:
    """The pairs stated by our own exports, else one number for the pairs that the snippet chains."""
    first = snippet.instructions[0]
    if stated := stated_pairs(snippet.info, first.scheme.text):
        return stated
    possible = register_pairs(first.scheme)
    if snippet.words[0] != first.words[0] and first.scheme.mode:
        why = "a pseudo-instruction, whose operands are others"
        return pairs_with_bound(possible, snippet.value, why)
    chained = _chained_operands(first, snippet.words)
    pairs = [pair for pair in possible if pair in chained] or possible
    if len({instruction.scheme.text for instruction in snippet.instructions}) == 1:
        return pairs_with_latency(pairs, snippet.value)
    other_count = len(snippet.instructions) - 1
    why = f"a chain with {', '.join(instruction.words[0] for instruction in snippet.instructions[1:4])}"
    return pairs_with_bound(pairs, snippet.total - other_count, why)


def _chained_operands(first: LlvmScheme, words: Sequence[str]) -> set[tuple[str, str]]:
    """(source, destination) operands, from 1, that are the same register in an instance."""
    by_register: dict[str, set[int]] = {}
    for place, word in enumerate(first.operands_of(words)):
        if place in first.registers:
            by_register.setdefault(word, set()).add(first.registers[place])
    groups = by_register.values()
    return {(str(a + 1), str(b + 1)) for group in groups for a in group for b in group}
