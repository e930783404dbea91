"""The page of an instruction card: ports, cycles and latencies of forms on several CPUs."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode

from inference.features.library.instruction.query import Cpu, UnknownInstructionError, card_of
from inference.features.library.instruction.request import InstructionRequest
from inference.web.validation import read


def instruction(request: HttpRequest, isa: str, mnemonic: str) -> HttpResponse:
    """The card of a mnemonic; the address may name CPUs (`cpus`). Alternative names redirect."""
    query = read(InstructionRequest, {"mnemonic": mnemonic, "isa": isa, "cpus": request.GET.get("cpus", "")})
    try:
        card = card_of(query)
    except UnknownInstructionError as error:
        raise Http404(error.what) from error
    if card.mnemonic != mnemonic:
        return redirect(_address(card.isa.name, card.mnemonic, query.chosen))
    keys = [cpu.key for cpu in card.cpus]

    def with_cpu(cpu: Cpu) -> str:
        return _address(isa, mnemonic, [*keys, cpu.key])

    def without_cpu(cpu: Cpu) -> str:
        return _address(isa, mnemonic, [key for key in keys if key != cpu.key])

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
            "search": f"{reverse('search')}?{urlencode({'q': mnemonic, 'all': '1'})}",
        },
    )


def _address(isa: str, mnemonic: str, cpus: list[str] | tuple[str, ...] = ()) -> str:
    page = reverse("instruction", args=[isa, mnemonic])
    return f"{page}?cpus={','.join(cpus)}" if cpus else page


urlpatterns = [path("i/<str:isa>/<str:mnemonic>/", instruction, name="instruction")]
