"""What a run over basic blocks has measured so far, from its journal."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from inference.exchange.instruction_sets import X86
from inference.isa.x86.blocks import block_of_hex
from inference.models import ISA, Run
from inference.views.address import whole_number
from inference.views.blocks.shown import shown
from inference.views.runs.record import RunRecord

PAGE = 10
"""Blocks on one page, each with its instructions."""


def measured_blocks(request: HttpRequest, run: Run, record: RunRecord) -> dict[str, Any]:
    """The blocks of the page that the address asks for (`from`, counted from 1), with their results."""
    codes = run.config["blocks"]
    asked = (whole_number(request, "from", 1) or 1) - 1
    first = min(max(asked, 0), len(codes) - 1) // PAGE * PAGE
    results = {index + 1: result for index, result in record.blocks.items()}
    page = [block_of_hex(code) for code in codes[first : first + PAGE]]
    isa = ISA.objects.filter(name=X86).first()
    return {
        "blocks": shown(page, isa, results, first + 1),
        "block_count": len(codes),
        "previous_blocks": first - PAGE + 1 if first else None,
        "next_blocks": first + PAGE + 1 if first + PAGE < len(codes) else None,
        "options": run.config["options"],
        "ended": run.state in Run.FINAL,
    }
