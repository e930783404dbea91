"""A core model as benchmarks of llvm-exegesis, which its analysis holds against LLVM's scheduling model.

`llvm-exegesis -mode=analysis` reads them without any counter. The fields are those that every release from 13
on takes: newer ones have other names for some, and read these. One file has one mode: the analysis compares
whatever it finds. LLVM knows one latency per result, and takes the scheduling class from the first
instruction, so there is one, with the largest of its latencies. See docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from inference.formats.errors import ExchangeError
from inference.formats.exported import ExportedScheme
from inference.formats.exported_core import ExportedCore
from inference.formats.llvm_td import plainest_by_opcode
from inference.formats.quoting import comment, yaml_line
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
    told_by: str


def write_exegesis_yaml(core: ExportedCore, instances: LlvmInstances, mode: str) -> str:
    """The documents of one mode, one for each instruction of LLVM of which that is known.

    Raises `ExchangeError` for other instruction sets than x86-64.
    """
    if target_of(core.mapping.isa).snippets is None:
        raise ExchangeError(f"benchmarks of llvm-exegesis are written for x86-64, not for {core.mapping.isa}")
    return "".join([*_head(core, instances, mode), *_documents(core, instances, mode)])


def _head(core: ExportedCore, instances: LlvmInstances, mode: str) -> Iterator[str]:
    yield core.mapping.provenance.commented("#")
    told = f"{mode} of one instruction each, as {instances.told_by} calls them; others may do otherwise"
    yield comment("#", told)
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
    return core.largest(scheme.text)


def _uops(core: ExportedCore, scheme: ExportedScheme) -> float | None:
    """Issue slots, which is what LLVM's counters of µops count, where they are known."""
    return float(scheme.slots if core.mapping.value.issue_width is not None else scheme.count)


_VALUES: Mapping[str, Callable[[ExportedCore, ExportedScheme], float | None]] = {
    LATENCY: _latency,
    THROUGHPUT: _throughput,
    UOPS: _uops,
}
