"""Where LLVM's scheduling model differs from what was measured: a report in Markdown, to paste into an issue.

A value of JSON alone, so that a run keeps it as its result; `markdown` writes the report from that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from inference.core.protocols import Json
from inference.formats.quoting import code_block, code_span, markdown_cell, markdown_line

_MOST_UNKNOWN = 40
"""Schemes without an answer that the report lists; of more, it gives the number."""


@dataclass(frozen=True)
class Differing:
    """A scheme of which LLVM says something else. Cycles are those of one instance, `measured` if it was.

    `usage` are the mapping's µops in words, with what other results say instead, `masks` as (port mask,
    count), `pressure` (resource of LLVM, cycles of it), `command` asks llvm-mca again, `evidence` are the
    witnesses in words, `doubts` what speaks against the mapping.
    """

    scheme: str
    pk: int
    text: str
    measured: float | None
    predicted: float
    usage: str
    masks: Sequence[Sequence[int]]
    uops: int
    llvm: float
    llvm_uops: float
    pressure: Sequence[Sequence[Any]]
    command: str
    evidence: Sequence[str] = ()
    doubts: Sequence[str] = ()

    @property
    def reference(self) -> float:
        """What LLVM is held against: the measurement, else what the mapping predicts."""
        return self.predicted if self.measured is None else self.measured

    @property
    def factor(self) -> float:
        """LLVM's cycles over the reference: above 1 where LLVM is too slow."""
        return self.llvm / self.reference if self.reference else math.inf

    @property
    def pressure_in_words(self) -> str:
        """LLVM's resources, each with its cycles."""
        return ", ".join(f"{name} {cycles:.2f}" for name, cycles in self.pressure) or "none"

    @property
    def verdict(self) -> str:
        """`too slow by a factor of 2.01`, as seen from LLVM."""
        if self.factor >= 1:
            return f"too slow by a factor of {self.factor:.3g}" if math.isfinite(self.factor) else "too slow"
        return f"too fast by a factor of {1 / self.factor:.3g}" if self.factor else "free of any cost"


@dataclass(frozen=True)
class LlvmDifference:
    """The whole comparison. `tolerance` is relative; `within` schemes differ by no more.

    `unknown`: (scheme, reason) of those that LLVM has no answer for. `head`: the mapping's provenance.
    """

    mapping: str
    tool: str
    release: str
    cpu: str
    tolerance: float
    asked: int
    within: int
    differing: Sequence[Differing]
    unknown: Sequence[Sequence[str]]
    head: Sequence[str]

    def as_json(self) -> Json:
        return asdict(self)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> LlvmDifference:
        """From the result of a run."""
        rows = [Differing(**row) for row in told["differing"]]
        return cls(**{**told, "differing": rows})

    @property
    def slower(self) -> int:
        """Of how many schemes LLVM's cycles are too many."""
        return sum(row.factor > 1 for row in self.differing)

    @property
    def quicker(self) -> int:
        """Of how many they are too few."""
        return len(self.differing) - self.slower

    @property
    def percent(self) -> float:
        """The tolerance in per cent."""
        return 100 * self.tolerance


def is_notable(llvm: float, reference: float, tolerance: float) -> bool:
    """Whether LLVM's cycles differ from the reference by more than this share of it."""
    return abs(llvm - reference) > tolerance * reference


def worst_first(rows: Sequence[Differing]) -> list[Differing]:
    """By the factor, whichever way it goes; equal ones in their order."""
    return sorted(
        rows, key=lambda row: -abs(math.log(row.factor)) if 0 < row.factor < math.inf else -math.inf
    )


def markdown(report: LlvmDifference) -> str:
    return "\n".join(_lines(report)) + "\n"


def _lines(report: LlvmDifference) -> Iterator[str]:
    yield f"# {markdown_line(report.tool)} and “{markdown_line(report.mapping)}”: differences"
    yield ""
    yield (
        f"Of {report.asked} instruction schemes, {report.within} agree within {report.percent:g} %. "
        f"LLVM's model is too slow for {report.slower}, too fast for "
        f"{report.quicker}, and has no answer for {len(report.unknown)}."
    )
    yield ""
    yield (
        "Cycles are inverse throughputs of one instance without dependencies: measured in an unrolled loop, "
        "predicted from the µops of the port mapping, and `BlockRThroughput` of `llvm-mca -json`. Where "
        "nothing was measured, LLVM is held against the prediction."
    )
    yield ""
    yield from (f"- {markdown_line(line)}" for line in report.head)
    for row in report.differing:
        yield from _section(report, row)
    if report.unknown:
        yield from ("", "## Without an answer", "")
        yield from (
            f"- {code_span(scheme)}: {markdown_line(why)}" for scheme, why in report.unknown[:_MOST_UNKNOWN]
        )
        if len(report.unknown) > _MOST_UNKNOWN:
            yield f"- and {len(report.unknown) - _MOST_UNKNOWN} more"


def _section(report: LlvmDifference, row: Differing) -> Iterator[str]:
    yield from ("", f"## {code_span(row.scheme)}: {row.verdict}", "", code_block("asm", row.text), "")
    yield "| | cycles | µops | ports |"
    yield "|---|---:|---:|---|"
    measured = "not measured" if row.measured is None else f"{row.measured:.3f}"
    yield f"| measured | {measured} | | |"
    yield f"| port mapping | {row.predicted:.3f} | {row.uops} | {markdown_cell(row.usage)} |"
    pressure = markdown_cell(row.pressure_in_words)
    yield f"| {markdown_cell(report.tool)} | {row.llvm:.3f} | {row.llvm_uops:g} | {pressure} |"
    yield ""
    yield from (f"- {markdown_line(line)}" for line in row.evidence)
    yield from (f"- Doubt: {markdown_line(line)}" for line in row.doubts)
    if not row.evidence:
        yield "- No witness experiments: the µops explain the measurements together, not each by itself."
    yield f"- Ask again: {code_span(row.command)}"
