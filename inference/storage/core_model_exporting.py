"""Stored core models as files for other tools: the row as a value with its evidence, and the writers."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from inference.formats.errors import ExchangeError
from inference.formats.exegesis_yaml import LlvmInstances, write_exegesis_yaml
from inference.formats.exported import ExportedMapping
from inference.formats.exported_core import ExportedCore, exported_core
from inference.formats.latencies_xml import write_core_xml
from inference.formats.llvm_patch.writing import write_llvm_patch
from inference.formats.llvm_td import Opcodes, write_llvm_td
from inference.formats.osaca_yaml import write_osaca_core
from inference.formats.provenance import Provenance
from inference.isa.llvm_mc import AssemblerError
from inference.isa.llvm_opcodes import llvm_instructions, llvm_opcodes
from inference.models import StoredCoreModel
from inference.storage.core_models import core_model_of
from inference.storage.exported import evidence_of, tool_names_of

LLVM_SOURCES = "PMWEB_LLVM_SOURCES"


def core_of_row(row: StoredCoreModel) -> ExportedCore:
    """The value (a bounded number of queries). Raises `ExchangeError` for a model without ports."""
    model = core_model_of(row)
    return exported_core(
        row.name,
        row.isa.name,
        model,
        _provenance(row, model.sources.items()),
        tool_names_of(row.machine),
        {} if row.mapping is None else evidence_of(row.mapping),
    )


def _provenance(row: StoredCoreModel, sources: Iterable[tuple[str, str]]) -> Provenance:
    machine = row.machine
    facts = (
        ("core model", row.name),
        ("instruction set", row.isa.name),
        ("machine", "" if machine is None else f"{machine.name} ({machine.cpu})"),
        *sources,
        ("created", row.created.date().isoformat()),
        ("note", row.note),
    )
    return Provenance(tuple((label, text) for label, text in facts if text))


def osaca_of(row: StoredCoreModel) -> str:
    return write_osaca_core(core_of_row(row))


def uops_info_of(row: StoredCoreModel) -> str:
    return write_core_xml(core_of_row(row))


def llvm_of(row: StoredCoreModel) -> str:
    core = core_of_row(row)
    return write_llvm_td(core.mapping, opcodes_of(core.mapping), core)


def opcodes_of(mapping: ExportedMapping) -> Opcodes:
    """LLVM's names of the schemes, or why they are not known here."""
    try:
        return Opcodes(*llvm_opcodes(mapping.isa, mapping.texts))
    except AssemblerError as error:
        return Opcodes({}, reason=str(error))


def llvm_patch_of(row: StoredCoreModel, folder: Path | None = None, cpu: str = "") -> str:
    """See `llvm_patch`. `folder`: LLVM's sources, by default those that `$PMWEB_LLVM_SOURCES` names.

    `cpu`: what LLVM calls the processor, by default what it calls the machine's core. Raises `ExchangeError`.
    """
    folder = folder or _llvm_sources()
    core = core_of_row(row)
    if cpu:
        tools = replace(core.mapping.tools, llvm=cpu)
        core = replace(core, mapping=replace(core.mapping, tools=tools))
    opcodes = opcodes_of(core.mapping)
    if opcodes.reason:
        raise ExchangeError(f"LLVM's names of instructions are needed: {opcodes.reason}")
    return write_llvm_patch(core, opcodes, folder)


def _llvm_sources() -> Path:
    folder = os.environ.get(LLVM_SOURCES)
    if not folder:
        raise ExchangeError(
            f"{LLVM_SOURCES} does not say where LLVM's sources (llvm-project/llvm) are on the site's computer"
        )
    return Path(folder)


def exegesis_of(row: StoredCoreModel, mode: str) -> str:
    core = core_of_row(row)
    return write_exegesis_yaml(core, instances_of(core), mode)


def instances_of(core: ExportedCore) -> LlvmInstances:
    """LLVM's words for the schemes. Raises `ExchangeError` where no llvm-mc is installed."""
    try:
        return LlvmInstances(*llvm_instructions(core.mapping.isa, core.mapping.texts))
    except AssemblerError as error:
        raise ExchangeError(f"LLVM's names of instructions are needed: {error}") from error
