"""What the description of an instruction rests on, as a part of the page about a loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from pydantic import BaseModel, ConfigDict, Field

from inference.core.core_model import CoreModel
from inference.features.asking.loop.instruction_table import uops_text
from inference.features.asking.loop.query import chosen_cpu, cpus
from inference.features.library.instruction.evidence import FormOnCpu
from inference.features.library.instruction.query import facts_about
from inference.isa.targets import DEFAULT
from inference.models import InstructionScheme, StoredCoreModel
from inference.storage.core_models import core_model_of, port_labels
from inference.web.validation import RequestError, read


class EvidenceRequest(BaseModel):
    """Schemes on a CPU: that of an instruction, or those which stand for it."""

    model_config = ConfigDict(frozen=True)

    cpu: str = Field("", max_length=200)
    isa: str = Field(DEFAULT, max_length=200)
    schemes: tuple[Annotated[str, Field(max_length=1000)], ...] = Field(min_length=1, max_length=4)


@dataclass(frozen=True)
class LatencyLine:
    """The latency of a pair of operands.

    Attributes:
        cycles: None where the destination does not wait for the source.
        basis: What the cycles rest on, "" where they were measured by themselves.
    """

    source: str
    destination: str
    cycles: float | None
    basis: str


@dataclass(frozen=True)
class SchemeBasis:
    """What is known about a scheme.

    Args:
        text: The scheme.
        scheme: Its row, None where the instruction set has none.
        uops: µops by the names of ports; "" where they are not known.
        is_move: It is eliminated.
        alone: Cycles of one instance, where its ports are not known.
        latencies: Latencies of its pairs of operands.
        facts: What they rest on; None for a core model that is not of this site's results.
        has_chains: The chains of its latencies are stored.
    """

    text: str
    scheme: InstructionScheme | None
    uops: str
    is_move: bool
    alone: float | None
    latencies: tuple[LatencyLine, ...]
    facts: FormOnCpu | None
    has_chains: bool


def loop_evidence(request: HttpRequest) -> HttpResponse:
    fields = {**request.GET.dict(), "scheme": request.GET.getlist("scheme")}
    question = read(EvidenceRequest, fields, {"schemes": "scheme"})
    cpu = chosen_cpu(cpus(question.isa), question.cpu)
    if cpu is None:
        raise RequestError("cpu", f"there is no core model {question.cpu!r}")
    model = core_model_of(cpu.row, question.schemes)
    evidence = [_evidence(text, cpu.row, model) for text in question.schemes]
    context = {"row": cpu.row, "evidence": evidence, "sources": model.sources}
    return render(request, "inference/loop/evidence.html", context)


def _evidence(text: str, row: StoredCoreModel, model: CoreModel) -> SchemeBasis:
    schemes = InstructionScheme.objects.select_related("isa")
    scheme = schemes.filter(isa__name=row.isa.name, text=text).first()
    is_stored = scheme is not None and row.pk is not None
    bases = model.bases.get(text, {})
    return SchemeBasis(
        text,
        scheme,
        _uops(model, row, text),
        text in model.moves,
        model.alone.get(text),
        tuple(
            LatencyLine(source, destination, cycles, bases.get((source, destination), ""))
            for (source, destination), cycles in model.latencies.get(text, {}).items()
        ),
        facts_about(scheme, row.machine, row.mapping) if scheme is not None and is_stored else None,
        is_stored and row.latencies is not None and row.latencies.schemes.filter(scheme=scheme).exists(),
    )


def _uops(model: CoreModel, row: StoredCoreModel, text: str) -> str:
    """The µops by the names of ports, "" where they are not known."""
    if model.mapping is None or text not in model.mapping.usage:
        return ""
    labels = port_labels(row)
    return uops_text(model.mapping.usage[text], [labels[port] for port in model.mapping.ports])


urlpatterns = [path("loop/evidence/", loop_evidence, name="loop-evidence")]
