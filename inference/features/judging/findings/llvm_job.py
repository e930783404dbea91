"""Differences of LLVM's scheduling model from a port mapping: the report, and the runs that compute it.

The report consists of JSON values, since a run stores it as its result; `markdown` writes it for an issue.
"""

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
from inference.formats.exports import ExportedMapping, ExportedScheme
from inference.formats.quoting import code_block, code_span, markdown_cell, markdown_line
from inference.isa.llvm_schemes import llvm_side, without_modes
from inference.isa.targets import names_with_blocks, target_of
from inference.models import PortMapping
from inference.predictors.llvm.model import LlvmModel, ModelAnswer
from inference.predictors.llvm.releases import INSTALL, list_releases
from inference.predictors.protocol import PredictorError
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.request import RunRequest, read_row
from inference.storage.export_values import exported_mapping
from inference.storage.names import result_name, row_names

_MAX_UNKNOWN = 40
"""Schemes without an answer that the report lists; it counts the others."""


@dataclass(frozen=True)
class DifferingScheme:
    """A scheme on which LLVM differs. Cycles are those of one instance; `measured` is None without a
    measurement.

    Attributes:
        usage: The mapping's µops in words, with conflicting results.
        masks: Masks as (port mask, count).
        pressure: (resource of LLVM, cycles).
        command: Repeats llvm-mca's prediction.
        evidence: The witnesses in words.
        doubts: The doubts about the mapping's µops.
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
        """The cycles to compare LLVM with: the measurement, else the mapping's prediction."""
        return self.predicted if self.measured is None else self.measured

    @property
    def factor(self) -> float:
        """LLVM's cycles over the reference: above 1 if LLVM is too slow."""
        return self.llvm / self.reference if self.reference else math.inf

    @property
    def pressure_in_words(self) -> str:
        """LLVM's resources with their cycles, in words."""
        return ", ".join(f"{name} {cycles:.2f}" for name, cycles in self.pressure) or "none"

    @property
    def verdict(self) -> str:
        """LLVM's error in words, like `too slow by a factor of 2.01`."""
        if self.factor >= 1:
            return f"too slow by a factor of {self.factor:.3g}" if math.isfinite(self.factor) else "too slow"
        return f"too fast by a factor of {1 / self.factor:.3g}" if self.factor else "takes no time"


@dataclass(frozen=True)
class LlvmDifference:
    """The report. `tolerance` is relative; `within` of the `asked` schemes differ by no more.

    Attributes:
        unknown: (scheme, reason) of schemes without an answer by LLVM.
        head: The mapping's provenance.
    """

    mapping: str
    tool: str
    release: str
    cpu: str
    tolerance: float
    asked: int
    within: int
    differing: Sequence[DifferingScheme]
    unknown: Sequence[Sequence[str]]
    head: Sequence[str]

    def as_json(self) -> Json:
        return asdict(self)

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> LlvmDifference:
        rows = [DifferingScheme(**row) for row in report["differing"]]
        return cls(**{**report, "differing": rows})

    @property
    def slower(self) -> int:
        """Number of schemes that LLVM predicts too slow."""
        return sum(row.factor > 1 for row in self.differing)

    @property
    def quicker(self) -> int:
        """Number of schemes that LLVM predicts too fast."""
        return len(self.differing) - self.slower

    @property
    def percent(self) -> float:
        """The tolerance in per cent."""
        return 100 * self.tolerance


def is_notable(llvm: float, reference: float, tolerance: float) -> bool:
    """Whether LLVM's cycles differ from the reference by more than `tolerance` times the reference."""
    return abs(llvm - reference) > tolerance * reference


def by_factor(rows: Sequence[DifferingScheme]) -> list[DifferingScheme]:
    """The schemes with the largest factor, too slow or too fast, first; a stable sort."""
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
            f"- {code_span(scheme)}: {markdown_line(why)}" for scheme, why in report.unknown[:_MAX_UNKNOWN]
        )
        if len(report.unknown) > _MAX_UNKNOWN:
            yield f"- and {len(report.unknown) - _MAX_UNKNOWN} more"


def _section(report: LlvmDifference, row: DifferingScheme) -> Iterator[str]:
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
DEFAULT_TOLERANCE = 0.2
"""Relative; measurements of one scheme on one core differ by far less."""
_MAX_WITNESSES = 4
_CPU = re.compile(r"\w[\w.-]{0,39}")


def _processor(name: str) -> str:
    if name and (not _CPU.fullmatch(name) or name in {"native", "help"}):
        raise ValueError(f"must be the name of a processor such as haswell or znver3, not {name!r:.80}")
    return name


class DifferenceConfig(RunRequest):
    """`mapping`: row id. `release`: major version of llvm-mca, "" for the newest. `cpu`: the value of
    -mcpu."""

    noun = "a difference to LLVM"
    mapping: int
    cpu: Annotated[
        str,
        AfterValidator(_processor),
        Field(max_length=40, description="Processor, as LLVM's option -mcpu has it.", examples=["haswell"]),
    ] = ""
    release: Annotated[
        str,
        Field(
            pattern=r"^\d{0,3}$", description="Release of llvm-mca; empty for the newest.", examples=["22"]
        ),
    ] = ""
    tolerance: Annotated[
        float, Field(ge=0, le=10, description="Largest relative difference of LLVM from the reference.")
    ] = DEFAULT_TOLERANCE


class LlvmDifferenceJob(Job):
    """Runs of kind `llvm-difference`; `DifferenceConfig` has the fields of their description."""

    def check(self, config: Json) -> Json:
        """The complete description. Raises `ConfigError` for a mapping, release or processor that does not
        fit."""
        request = DifferenceConfig.read(config)
        row = read_row(PortMapping.objects.select_related("isa"), "mapping", request.mapping)
        if target_of(row.isa.name).blocks is None:
            right = ", ".join(names_with_blocks())
            raise ConfigError(f"mapping: {row.name!r} is for {row.isa.name}, but must be for {right}")
        if not request.cpu:
            raise ConfigError("cpu must be the name of a processor such as haswell or znver3")
        try:
            model = find_model(request.release, request.cpu)
        except PredictorError as error:
            raise ConfigError(str(error)) from error
        return request.as_json() | {"release": model.release.number}

    def default_name(self, config: Json) -> str:
        (mapping,) = row_names(PortMapping, [config["mapping"]])
        return result_name(mapping, f"llvm-mca {config['release']}, {config['cpu']}")

    def work(self, task: Task) -> Store:
        """Compare every scheme; the result is the report. Raises `JobError`."""
        config = DifferenceConfig.from_stored(task.run.config)
        row = PortMapping.objects.filter(pk=config.mapping).select_related("isa", "machine", "run").first()
        if row is None:
            raise JobError("the mapping to compare has been deleted")
        try:
            report = llvm_difference(row, config, task.reporter.pulse)
        except PredictorError as error:
            raise JobError(str(error)) from error
        return partial(_store, task.run.pk, row, report)


def find_model(release: str, cpu: str) -> LlvmModel:
    """The model of a processor in a release, "" for the newest. Raises `PredictorError` if it is not
    installed."""
    installed = list_releases()
    matching = [candidate for candidate in installed if release in ("", candidate.number)]
    if not matching:
        numbers = ", ".join(dict.fromkeys(candidate.number for candidate in installed)) or "no release"
        raise PredictorError(f"llvm-mca {release} is not installed here, there is {numbers}: {INSTALL}")
    return LlvmModel(matching[-1], cpu)


def llvm_difference(
    row: PortMapping, config: DifferenceConfig, pulse: Callable[[], None] = lambda: None
) -> LlvmDifference:
    """Compute the report of a mapping; `pulse` is called for every batch of schemes. Raises
    `PredictorError`."""
    mapping = exported_mapping(row)
    model = find_model(config.release, config.cpu)
    codes = llvm_side(mapping.isa).instances(without_modes(mapping.isa, mapping.texts))
    pairs = [(scheme, codes[scheme.text]) for scheme in mapping.schemes if scheme.text in codes]
    answers = model.ask([code for _, code in pairs], pulse)
    pks = dict(row.isa.schemes.filter(pk__in=row.usages.values("scheme")).values_list("text", "pk"))
    differing, unknown = [], []
    for (scheme, _), answer in zip(pairs, answers, strict=True):
        if answer.failure:
            unknown.append((scheme.text, answer.failure))
        elif is_notable(answer.cycles, _reference(scheme), config.tolerance):
            differing.append(_differing_scheme(row, mapping, scheme, pks[scheme.text], model, answer))
    return LlvmDifference(
        mapping=row.name,
        tool=model.name,
        release=model.release.number,
        cpu=model.cpu,
        tolerance=config.tolerance,
        asked=len(pairs),
        within=len(pairs) - len(differing) - len(unknown),
        differing=by_factor(differing),
        unknown=unknown,
        head=mapping.provenance.lines(),
    )


def _reference(scheme: ExportedScheme) -> float:
    measured = scheme.evidence.measured
    return scheme.predicted if measured is None else measured


def _differing_scheme(
    row: PortMapping,
    mapping: ExportedMapping,
    scheme: ExportedScheme,
    pk: int,
    model: LlvmModel,
    answer: ModelAnswer,
) -> DifferingScheme:
    proof = proof_of(row, row.isa.schemes.get(pk=pk)) if scheme.evidence.witnesses else None
    return DifferingScheme(
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
    """The witnesses of a scheme's µops in words: at most `_MAX_WITNESSES`, and the number of others."""
    lines = [
        f"Witness: {step.witness.copies} × {step.witness.blocker} on {step.where} take "
        f"{_cycles(step.witness.base_cycles)}, with {scheme} beside them "
        f"{_cycles(step.witness.cycles)}: {step.conclusion}"
        for step in steps[:_MAX_WITNESSES]
    ]
    return lines if len(steps) <= _MAX_WITNESSES else [*lines, f"and {len(steps) - _MAX_WITNESSES} more"]


def _cycles(value: float | None) -> str:
    return "an unsettled number of cycles" if value is None else f"{value:.3f} cycles"


def _store(run: int, row: PortMapping, report: LlvmDifference) -> tuple[Json, Sequence[Event]]:
    summary = {
        "mapping": row.pk,
        "name": row.name,
        "place": f"llvm/?run={run}",
        "differing": len(report.differing),
        "asked": report.asked,
    }
    text = f"{report.tool}: {len(report.differing)} of {report.asked} schemes differ"
    return {**summary, "report": report.as_json()}, [Log("info", text), ResultStored(summary)]


JOBS = {"llvm-difference": LlvmDifferenceJob}
