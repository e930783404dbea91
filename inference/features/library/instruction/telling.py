"""The instruction card as plain values, for the API and the shell."""

from __future__ import annotations

from typing import Any

from inference.core.mapping import Uops
from inference.core.protocols import Json
from inference.features.library.instruction.cells import FormOnCpu
from inference.features.library.instruction.query import Cpu, InstructionCard
from inference.web.api.shapes import uops_json


def card_as_json(card: InstructionCard) -> Json:
    """All of it as an object for programs."""
    return {
        "isa": card.isa.name,
        "mnemonic": card.mnemonic,
        "cpus": [_cpu(each) for each in card.cpus],
        "further": [_cpu(each) for each in card.further],
        "forms": [
            {
                "scheme_id": form.scheme.pk,
                "scheme": form.scheme.text,
                "cells": [_cell(cpu, cell) for cpu, cell in zip(card.cpus, form.cells, strict=True)],
            }
            for form in card.forms
        ],
        "silent": [scheme.text for scheme in card.silent],
        "relatives": list(card.relatives),
    }


def _cpu(cpu: Cpu) -> Json:
    return {
        "key": cpu.key,
        "name": cpu.name,
        "core": cpu.core,
        "machine_id": None if cpu.machine is None else cpu.machine.pk,
        "mapping_id": None if cpu.mapping is None else cpu.mapping.pk,
        "ports": [] if cpu.mapping is None else list(cpu.mapping.ports),
    }


def _cell(cpu: Cpu, cell: FormOnCpu) -> Json:
    latency = cell.latency
    return {
        "cpu": cpu.key,
        "uops": _uops(cell.uops, cpu),
        "slots": cell.slots,
        "measured": None if cell.alone is None else cell.alone.cycles,
        "predicted": cell.predicted,
        "experiment_id": None if cell.alone is None else cell.alone.experiment_id,
        "latency_least": None if latency is None else latency.least,
        "latency_most": None if latency is None else latency.most,
        "latency_at_most": None if latency is None else latency.at_most,
        "latency_set_id": None if latency is None else latency.latency_set.pk,
        "certainty": cell.certainty,
        "why": cell.why,
        "conflicts": list(cell.conflicts),
        "witnesses": cell.witnesses,
        "others": [
            {
                "mapping_id": each.mapping.pk,
                "mapping": each.mapping.name,
                "uops": uops_json(each.uops, each.mapping.ports),
            }
            for each in cell.others
        ],
        "documents": [
            {"source": each.source, "what": each.what, "said": each.said} for each in cell.documents
        ],
    }


def _uops(uops: Uops | None, cpu: Cpu) -> list[dict[str, Any]] | None:
    return None if uops is None or cpu.mapping is None else uops_json(uops, cpu.mapping.ports)
