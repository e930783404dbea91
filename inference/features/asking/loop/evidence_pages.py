"""What the description of an instruction rests on, as a part of the page about a loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from pydantic import BaseModel, ConfigDict, Field

from inference.core.core_model import CoreModel
from inference.features.asking.loop.cpus import chosen_cpu, cpus
from inference.features.asking.loop.instruction_table import uops_text
from inference.features.library.instruction.query import facts_about
from inference.isa.targets import DEFAULT
from inference.models import InstructionScheme, StoredCoreModel
from inference.storage.core_models import core_model_of
from inference.web.validation import RequestError, read


class EvidenceRequest(BaseModel):
    """A scheme on a CPU."""

    model_config = ConfigDict(frozen=True)

    cpu: str = Field("", max_length=200)
    isa: str = Field(DEFAULT, max_length=200)
    scheme: str = Field(min_length=1, max_length=1000)


@dataclass(frozen=True)
class LatencyLine:
    """The latency of a pair of operands. `cycles`: None where the destination does not wait for the source.

    `basis`: what the cycles rest on, "" where they were measured by themselves.
    """

    source: str
    destination: str
    cycles: float | None
    basis: str


def loop_evidence(request: HttpRequest) -> HttpResponse:
    question = read(EvidenceRequest, request.GET.dict())
    cpu = chosen_cpu(cpus(question.isa), question.cpu)
    if cpu is None:
        raise RequestError("cpu", f"there is no core model {question.cpu!r}")
    row, text = cpu.row, question.scheme
    model = core_model_of(row, {text})
    scheme = InstructionScheme.objects.filter(isa__name=row.isa.name, text=text).first()
    context = {
        "row": row,
        "text": text,
        "scheme": scheme,
        "uops": _uops(model, row, text),
        "is_move": text in model.moves,
        "alone": model.alone.get(text),
        "latencies": list(_latencies(model, text)),
        "sources": model.sources,
        "facts": None if scheme is None or row.pk is None else facts_about(scheme, row.machine, row.mapping),
        "chains": row.latencies is not None
        and scheme is not None
        and row.latencies.schemes.filter(scheme=scheme).exists(),
    }
    return render(request, "inference/loop/evidence.html", context)


def _uops(model: CoreModel, row: StoredCoreModel, text: str) -> str:
    """The µops by the vendor's names of ports, "" where they are not known."""
    if model.mapping is None or text not in model.mapping.usage:
        return ""
    names = [row.port_names.get(port) or port for port in model.mapping.ports]
    return uops_text(model.mapping.usage[text], names)


def _latencies(model: CoreModel, text: str) -> Iterator[LatencyLine]:
    bases = model.bases.get(text, {})
    for (source, destination), cycles in model.latencies.get(text, {}).items():
        yield LatencyLine(source, destination, cycles, bases.get((source, destination), ""))


urlpatterns = [path("loop/evidence/", loop_evidence, name="loop-evidence")]
