"""The page of an instruction card: ports, cycles and latencies of forms on several CPUs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode

from inference.core.judging.contradictions import NOT_SETTLED
from inference.features.library.instruction.cpus import Cpu
from inference.features.library.instruction.evidence import FormOnCpu
from inference.features.library.instruction.llvm import LlvmCoreModel, llvm_core_model, opcodes_of
from inference.features.library.instruction.query import (
    InstructionCard,
    InstructionForm,
    UnknownInstructionError,
    card_of,
)
from inference.features.library.instruction.request import InstructionRequest
from inference.isa.targets import target_of
from inference.models import InstructionScheme
from inference.predictors.llvm.model import ModelAnswer
from inference.web.contributions import PanelPlace, handle_panel_form, rendered_panels
from inference.web.validation import read

_UOPS_INFO = "https://uops.info/html-instr/{}.html"
_SAME = 0.05
"""Share by which cycles of two CPUs may differ and still be called the same."""


def instruction(request: HttpRequest, isa: str, mnemonic: str) -> HttpResponse:
    """The card of a mnemonic; the address may name CPUs (`cpus`). Alternative names redirect."""
    parameters = {name: request.GET.get(name, "") for name in ("cpus", "forms")}
    query = read(InstructionRequest, {"mnemonic": mnemonic, "isa": isa, **parameters})
    try:
        card = card_of(query)
    except UnknownInstructionError as error:
        raise Http404(error.what) from error
    if card.mnemonic != mnemonic:
        return redirect(_address(card.isa.name, card.mnemonic, query.chosen, query.forms))
    if request.method == "POST":
        answer = handle_panel_form(request, PanelPlace.INSTRUCTION, card)
        return answer if isinstance(answer, HttpResponse) else redirect(request.get_full_path())
    keys = [cpu.key for cpu in card.cpus]

    def with_cpu(cpu: Cpu) -> str:
        return _address(isa, mnemonic, [*keys, cpu.key], query.forms)

    def without_cpu(cpu: Cpu) -> str:
        return _address(isa, mnemonic, [key for key in keys if key != cpu.key], query.forms)

    models = _llvm_models(card)
    return render(
        request,
        "inference/instruction/card.html",
        {
            "card": card,
            "cpus": [
                (cpu, without_cpu(cpu) if len(keys) > 1 else "", models.get(cpu.core)) for cpu in card.cpus
            ],
            "further": [(cpu, with_cpu(cpu)) for cpu in card.further],
            "rows": _form_rows(card, models),
            "relatives": [(name, _address(isa, name)) for name in card.relatives],
            "elsewhere": [(isa_row, _address(isa_row.name, mnemonic)) for isa_row in card.elsewhere],
            "listing": f"{reverse('isa', args=[card.isa.pk])}?{urlencode({'q': f'mnemonic:{mnemonic}'})}",
            "forms": query.forms,
            "all_forms": _address(isa, mnemonic, query.chosen),
            "search": f"{reverse('search')}?{urlencode({'q': mnemonic, 'all': '1'})}",
            "panels": rendered_panels(request, PanelPlace.INSTRUCTION, card),
        },
    )


@dataclass(frozen=True)
class CardLine:
    """A form on a CPU, and what LLVM's model of the core says about it; None where it says nothing."""

    cpu: Cpu
    cell: FormOnCpu
    figures: ModelAnswer | None
    model: LlvmCoreModel | None

    @property
    def conflicts(self) -> list[str]:
        """Contradicting results of the machine in a sentence, with the names of ports that the page shows."""
        labels = dict(zip(self.cpu.ports, self.cpu.port_labels, strict=False))

        def renamed(ports: re.Match[str]) -> str:
            return f"[{','.join(labels.get(port, port) for port in ports[1].split(','))}]"

        return [
            "Not settled: " + re.sub(r"\[([^\[\]]+)\]", renamed, words.removesuffix(f"; {NOT_SETTLED}"))
            for words in self.cell.conflicts
        ]


@dataclass(frozen=True)
class FormRow:
    """A form with its lines.

    Attributes:
        summary: A sentence.
        uops_info: The address of its page there.
    """

    scheme: InstructionScheme
    summary: str
    opcode: str
    uops_info: str
    lines: Sequence[CardLine]


def _llvm_models(card: InstructionCard) -> dict[str, LlvmCoreModel]:
    """{core: what LLVM's model of it says}."""
    texts = tuple(form.scheme.text for form in card.forms)
    cores = dict.fromkeys(cpu.core for cpu in card.cpus if cpu.core)
    models = {core: llvm_core_model(card.isa.name, core, texts) for core in cores}
    return {core: model for core, model in models.items() if model is not None}


def _form_rows(card: InstructionCard, models: dict[str, LlvmCoreModel]) -> list[FormRow]:
    opcodes = opcodes_of(card.isa.name, tuple(form.scheme.text for form in card.forms))
    names = target_of(card.isa.name).names
    rows = []
    for form in card.forms:
        text = form.scheme.text
        name = names.uops_info_name(text)
        lines = []
        for cpu, cell in zip(card.cpus, form.cells, strict=True):
            if not cell.is_empty:
                model = models.get(cpu.core)
                lines.append(CardLine(cpu, cell, None if model is None else model.figures.get(text), model))
        rows.append(
            FormRow(
                form.scheme,
                _summary(card, form),
                opcodes.get(text, ""),
                _UOPS_INFO.format(name) if name else "",
                lines,
            )
        )
    return rows


def _summary(card: InstructionCard, form: InstructionForm) -> str:
    """A sentence such as "1.00 cycles on Zen 4, 0.33 on Zen 5; latency 3.00 on all"."""
    cells = [(cpu, cell) for cpu, cell in zip(card.cpus, form.cells, strict=True) if not cell.is_empty]
    cycles = [(cpu, cell.cycles) for cpu, cell in cells if cell.cycles is not None]
    latencies = [(cpu, cell.latency.most) for cpu, cell in cells if cell.latency is not None]
    values = [(cpu, highest) for cpu, highest in latencies if highest is not None]
    total = len(cells)
    return "; ".join(
        filter(None, (_by_core("{} cycles", cycles, total), _by_core("latency {}", values, total)))
    )


def _by_core(words: str, values: Sequence[tuple[Cpu, float]], total: int) -> str:
    """The values of several CPUs, by the name of the core where all CPUs with it agree; "" for fewer than
    two. `total`: number of CPUs in the table, with those that lack this value.
    """
    if len(values) < 2:
        return ""
    groups: list[tuple[float, list[Cpu]]] = []
    for cpu, value in values:
        near = next((cpus for number, cpus in groups if abs(number - value) <= _SAME * value), None)
        if near is None:
            groups.append((value, [cpu]))
        else:
            near.append(cpu)
    if len(groups) == 1 and len(values) == total:
        return f"{words.format(f'{groups[0][0]:.2f}')} on all"
    groups_of_core = Counter(core for _, cpus in groups for core in {cpu.core for cpu in cpus})
    texts: list[str] = []
    for value, cpus in groups:
        names = [cpu.core if cpu.core and groups_of_core[cpu.core] == 1 else cpu.label for cpu in cpus]
        number = f"{value:.2f}" if texts else words.format(f"{value:.2f}")
        texts.append(f"{number} on {' and '.join(dict.fromkeys(names))}")
    return ", ".join(texts)


def _address(isa: str, mnemonic: str, cpus: Sequence[str] = (), forms: str = "") -> str:
    page = reverse("instruction", args=[isa, mnemonic])
    query = {name: text for name, text in (("cpus", ",".join(cpus)), ("forms", forms)) if text}
    return f"{page}?{urlencode(query).replace('%2C', ',')}" if query else page


urlpatterns = [path("i/<str:isa>/<str:mnemonic>/", instruction, name="instruction")]
