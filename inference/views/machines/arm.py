"""How to measure a computer with an Arm processor: what it needs, what differs, and what is untested."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from inference.exchange.instruction_sets import AARCH64
from inference.isa import llvm_mc
from inference.models import ISA
from inference.views.machines.adding import dotted_python


def arm_boards(request: HttpRequest) -> HttpResponse:
    """The page, with what this site has of what it takes."""
    context = {
        "isa": ISA.objects.filter(name=AARCH64).first(),
        "assembler": llvm_mc.program(),
        "python": dotted_python(),
    }
    return render(request, "inference/machine/arm.html", context)


urlpatterns = [path("machines/arm/", arm_boards, name="machines-arm")]
