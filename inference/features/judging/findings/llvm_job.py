"""Runs that hold a port mapping against LLVM's scheduling model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated

from pydantic import AfterValidator, Field

from inference.core.event import Event
from inference.core.events import Log, ResultStored
from inference.core.mapping import described
from inference.core.protocols import Json
from inference.features.judging.findings.llvm_report import (
    Differing,
    LlvmDifference,
    is_notable,
    worst_first,
)
from inference.features.learning.explained.proofs import proof_of
from inference.formats.exported import ExportedMapping, ExportedScheme
from inference.isa.llvm_schemes import tool_side
from inference.isa.targets import names_with_blocks, target_of
from inference.models import PortMapping, Run
from inference.predictors.llvm.model import LlvmModel, Modelled
from inference.predictors.llvm.releases import INSTALL, installed
from inference.predictors.protocol import PredictorError
from inference.runs.described_rows import read_row
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Store, Task
from inference.runs.request import RunRequest
from inference.storage.exported import exported

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
        evidence=_witnesses(row, scheme, pk) if scheme.evidence.witnesses else (),
        doubts=scheme.evidence.doubts,
    )


def _witnesses(row: PortMapping, scheme: ExportedScheme, pk: int) -> Sequence[str]:
    """The experiments that prove its µops, in words."""
    proof = proof_of(row, row.isa.schemes.get(pk=pk))
    steps = [] if proof is None else proof.steps
    told = [
        f"Witness: {step.witness.copies} × {step.witness.blocker} on {step.where} take "
        f"{_cycles(step.witness.base_cycles)}, with {scheme.text} beside them "
        f"{_cycles(step.witness.cycles)}: {step.conclusion}"
        for step in steps[:_MOST_WITNESSES]
    ]
    return told if len(steps) <= _MOST_WITNESSES else [*told, f"and {len(steps) - _MOST_WITNESSES} more"]


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
