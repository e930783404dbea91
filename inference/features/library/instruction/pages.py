"""The page of an instruction card: ports, cycles and latencies of forms on several CPUs."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode

from inference.features.library.instruction.query import Cpu, UnknownInstructionError, card_of
from inference.features.library.instruction.request import InstructionRequest
from inference.web.validation import read


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
    keys = [cpu.key for cpu in card.cpus]

    def with_cpu(cpu: Cpu) -> str:
        return _address(isa, mnemonic, [*keys, cpu.key], query.forms)

    def without_cpu(cpu: Cpu) -> str:
        return _address(isa, mnemonic, [key for key in keys if key != cpu.key], query.forms)

    return render(
        request,
        "inference/instruction/card.html",
        {
            "card": card,
            "cpus": [(cpu, without_cpu(cpu) if len(keys) > 1 else "") for cpu in card.cpus],
            "further": [(cpu, with_cpu(cpu)) for cpu in card.further],
            "rows": [(form.scheme, list(zip(card.cpus, form.cells, strict=True))) for form in card.forms],
            "relatives": [(name, _address(isa, name)) for name in card.relatives],
            "elsewhere": [(isa_row, _address(isa_row.name, mnemonic)) for isa_row in card.elsewhere],
            "listing": f"{reverse('isa', args=[card.isa.pk])}?{urlencode({'q': f'mnemonic:{mnemonic}'})}",
            "forms": query.forms,
            "all_forms": _address(isa, mnemonic, query.chosen),
            "search": f"{reverse('search')}?{urlencode({'q': mnemonic, 'all': '1'})}",
        },
    )


def _address(isa: str, mnemonic: str, cpus: Sequence[str] = (), forms: str = "") -> str:
    page = reverse("instruction", args=[isa, mnemonic])
    query = {name: text for name, text in (("cpus", ",".join(cpus)), ("forms", forms)) if text}
    return f"{page}?{urlencode(query).replace('%2C', ',')}" if query else page


urlpatterns = [path("i/<str:isa>/<str:mnemonic>/", instruction, name="instruction")]
