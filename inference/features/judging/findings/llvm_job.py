"""Runs that hold a port mapping against LLVM's scheduling model."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from inference.core.events import Event, Log, ResultStored
from inference.core.mapping import described
from inference.core.protocols import Json
from inference.features.learning.explained.proofs import ProofStep, proof_of
from inference.formats.exported import ExportedMapping, ExportedScheme
from inference.formats.quoting import code_block, code_span, markdown_cell, markdown_line
from inference.isa.llvm_opcodes import tool_side
from inference.isa.targets import names_with_blocks, target_of
from inference.models import PortMapping, Run
from inference.predictors.llvm.model import LlvmModel, Modelled
from inference.predictors.llvm.releases import INSTALL, installed
from inference.predictors.protocol import PredictorError
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Store, Task
from inference.runs.request import RunRequest, read_row
from inference.storage.exported import exported

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


KIND = "llvm-difference"
TOLERANCE = 0.2
"""Relative: measurements of the same scheme on the same core differ by far less."""
_MOST_WITNESSES = 4
_CPU = re.compile(r"\w[\w.-]{0,39}")


def _processor(name: str) -> str:
    if name and (not _CPU.fullmatch(name) or name in {"native", "help"}):
        raise ValueError(f"must be the name of a processor such as haswell or znver3, not {name!r:.80}")
    return name


class DifferenceConfig(RunRequest):
    """`mapping`: its number. `release`: major version of llvm-mca, "" for the newest. `cpu`: for -mcpu."""

    noun = "a difference to LLVM"
    mapping: int
    cpu: Annotated[
        str,
        AfterValidator(_processor),
        Field(max_length=40, description="As -mcpu takes it.", examples=["haswell"]),
    ] = ""
    release: Annotated[
        str,
        Field(pattern=r"^\d{0,3}$", description="Of llvm-mca; empty for the newest.", examples=["22"]),
    ] = ""
    tolerance: Annotated[
        float, Field(ge=0, le=10, description="How far LLVM may be from what was measured, relative.")
    ] = TOLERANCE


class LlvmDifferenceJob:
    """Runs of kind `llvm-difference`; `DifferenceConfig` has the fields of their description."""

    def check(self, config: Json) -> Json:
        """The description with its defaults; raises `ConfigError`."""
        asked = DifferenceConfig.read(config)
        row = read_row(PortMapping.objects.select_related("isa"), "mapping", asked.mapping)
        if target_of(row.isa.name).blocks is None:
            right = ", ".join(names_with_blocks())
            raise ConfigError(f"mapping: {row.name!r} is for {row.isa.name}, this can be done for {right}")
        if not asked.cpu:
            raise ConfigError("cpu must be the name of a processor such as haswell or znver3")
        try:
            model = chosen_model(asked.release, asked.cpu)
        except PredictorError as error:
            raise ConfigError(str(error)) from error
        return asked.as_json() | {"release": model.release.number}

    def submitted(self, run: Run) -> None:
        """Nothing refers to such a run."""

    def work(self, task: Task) -> Store:
        """Ask for every scheme; the result is the report. Raises `JobError`."""
        config = DifferenceConfig.stored(task.run.config)
        row = PortMapping.objects.filter(pk=config.mapping).select_related("isa", "machine", "run").first()
        if row is None:
            raise JobError("the mapping to compare has been deleted")
        try:
            report = difference(row, config, task.reporter.pulse)
        except PredictorError as error:
            raise JobError(str(error)) from error
        return partial(_store, task.run.pk, row, report)


def chosen_model(release: str, cpu: str) -> LlvmModel:
    """The model of a processor in a release, the newest where none is named. Raises `PredictorError`."""
    here = installed()
    found = [each for each in here if release in ("", each.number)]
    if not found:
        numbers = ", ".join(dict.fromkeys(each.number for each in here)) or "none at all"
        raise PredictorError(f"llvm-mca {release} is not installed here, there is {numbers}: {INSTALL}")
    return LlvmModel(found[-1], cpu)


def difference(
    row: PortMapping, config: DifferenceConfig, pulse: Callable[[], None] = lambda: None
) -> LlvmDifference:
    """The report of a mapping; `pulse` is called every batch of schemes. Raises `PredictorError`."""
    mapping = exported(row)
    model = chosen_model(config.release, config.cpu)
    codes = tool_side(mapping.isa).instances(scheme.text for scheme in mapping.schemes)
    pairs = [(scheme, codes[scheme.text]) for scheme in mapping.schemes if scheme.text in codes]
    answers = model.ask([code for _, code in pairs], pulse)
    pks = dict(row.isa.schemes.filter(pk__in=row.usages.values("scheme")).values_list("text", "pk"))
    differing, unknown = [], []
    for (scheme, _), answer in zip(pairs, answers, strict=True):
        if answer.failure:
            unknown.append((scheme.text, answer.failure))
        elif is_notable(answer.cycles, _reference(scheme), config.tolerance):
            differing.append(_differing(row, mapping, scheme, pks[scheme.text], model, answer))
    return LlvmDifference(
        mapping=row.name,
        tool=model.name,
        release=model.release.number,
        cpu=model.cpu,
        tolerance=config.tolerance,
        asked=len(pairs),
        within=len(pairs) - len(differing) - len(unknown),
        differing=worst_first(differing),
        unknown=unknown,
        head=mapping.provenance.lines(),
    )


def _reference(scheme: ExportedScheme) -> float:
    measured = scheme.evidence.measured
    return scheme.predicted if measured is None else measured


def _differing(
    row: PortMapping,
    mapping: ExportedMapping,
    scheme: ExportedScheme,
    pk: int,
    model: LlvmModel,
    answer: Modelled,
) -> Differing:
    proof = proof_of(row, row.isa.schemes.get(pk=pk)) if scheme.evidence.witnesses else None
    return Differing(
        scheme=scheme.text,
        pk=pk,
        text="\n".join(answer.text),
        measured=scheme.evidence.measured,
        predicted=scheme.predicted,
        usage="; ".join((described(scheme.uops, mapping.value.ports), *scheme.evidence.conflicts)),
        masks=scheme.uops,
        uops=scheme.count,
        llvm=answer.cycles,
        llvm_uops=answer.uops,
        pressure=answer.pressure,
        command=model.command(answer.text),
        evidence=() if proof is None else witness_lines(scheme.text, proof.steps),
        doubts=scheme.evidence.doubts,
    )


def witness_lines(scheme: str, steps: Sequence[ProofStep]) -> list[str]:
    """The experiments that prove the µops of a scheme, in words: some, and how many more there are."""
    lines = [
        f"Witness: {step.witness.copies} × {step.witness.blocker} on {step.where} take "
        f"{_cycles(step.witness.base_cycles)}, with {scheme} beside them "
        f"{_cycles(step.witness.cycles)}: {step.conclusion}"
        for step in steps[:_MOST_WITNESSES]
    ]
    return lines if len(steps) <= _MOST_WITNESSES else [*lines, f"and {len(steps) - _MOST_WITNESSES} more"]


def _cycles(value: float | None) -> str:
    return "no usable number of cycles" if value is None else f"{value:.3f} cycles"


def _store(run: int, row: PortMapping, report: LlvmDifference) -> tuple[Json, Sequence[Event]]:
    told = {
        "mapping": row.pk,
        "name": row.name,
        "place": f"llvm/?run={run}",
        "differing": len(report.differing),
        "asked": report.asked,
    }
    text = f"{report.tool}: {len(report.differing)} of {report.asked} schemes differ"
    return {**told, "report": report.as_json()}, [Log("info", text), ResultStored(told)]
