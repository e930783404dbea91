"""Export formats of mappings, core models and experiment sets, for commands and pages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from inference.core.judging.contradictions import NOT_SETTLED
from inference.core.protocols import Json
from inference.formats.core_model_json import core_model_json, core_model_text
from inference.formats.exegesis import LATENCY, THROUGHPUT, UOPS, LlvmInstances, write_exegesis_yaml
from inference.formats.experiment_csv import write_experiment_csv
from inference.formats.exports import (
    ExportedCore,
    ExportedMapping,
    exported_core,
    write_diagram,
    write_kinds_csv,
)
from inference.formats.llvm_patch.writing import write_llvm_patch
from inference.formats.llvm_td import Opcodes, write_llvm_td
from inference.formats.mapping_json import write_mapping_csv, write_mapping_json, write_resource_json
from inference.formats.osaca_yaml import write_osaca_core, write_osaca_yaml
from inference.formats.pmevo_json import write_experiment_list, write_mapping3
from inference.formats.problems import ExchangeError
from inference.formats.provenance import Provenance
from inference.formats.quoting import json_by_line
from inference.formats.uops_info_xml_writing import write_core_xml, write_uops_info_xml
from inference.isa.llvm_mc import AssemblerError
from inference.isa.llvm_schemes import has_llvm_instances, llvm_instructions, llvm_opcodes, without_modes
from inference.isa.targets import target_of
from inference.models import ExperimentSet, PortMapping, ResourceMapping, StoredCoreModel
from inference.storage.core_models import core_model_of, overview_of, port_labels, unsettled_kinds
from inference.storage.export_values import evidence_of, exported_mapping, provenance_of, tool_names_of
from inference.storage.judging import conflicts_of
from inference.storage.mappings import load_mapping, load_resource_mapping
from inference.storage.rows import measured_in_parts, tools_of

LLVM_SOURCES = "PMWEB_LLVM_SOURCES"


def core_of_row(row: StoredCoreModel) -> ExportedCore:
    """A core model for export (a bounded number of queries). Raises `ExchangeError` without ports."""
    model = core_model_of(row)
    return exported_core(
        row.name,
        row.isa.name,
        model,
        _core_provenance(row, model.sources.items()),
        tool_names_of(row.machine),
        {} if row.mapping is None else evidence_of(row.mapping),
    )


def _core_provenance(row: StoredCoreModel, sources: Iterable[tuple[str, str]]) -> Provenance:
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
    """LLVM's names of the schemes, or the reason why they are unknown: no llvm-mc is installed."""
    try:
        return Opcodes(*llvm_opcodes(mapping.isa, without_modes(mapping.isa, mapping.texts)))
    except AssemblerError as error:
        return Opcodes({}, reason=str(error))


def llvm_patch_of(row: StoredCoreModel, folder: Path | None = None, cpu: str = "") -> str:
    """The patch that gives LLVM the core's scheduling model, see `formats.llvm_patch`.

    Args:
        row: The core model.
        folder: LLVM's sources; None for `$PMWEB_LLVM_SOURCES`.
        cpu: LLVM's name of the processor; "" for that of the machine's core.

    Raises:
        ExchangeError: LLVM's sources, or its names of instructions, are missing, or the model has
            no ports.
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
    """LLVM's instances of the schemes. Raises `ExchangeError` where no llvm-mc is installed."""
    try:
        return LlvmInstances(
            *llvm_instructions(core.mapping.isa, without_modes(core.mapping.isa, core.mapping.texts))
        )
    except AssemblerError as error:
        raise ExchangeError(f"LLVM's names of instructions are needed: {error}") from error


Row = TypeVar("Row")


@dataclass(frozen=True)
class Export(Generic[Row]):
    """An export format.

    Attributes:
        write: Row → text.
        hint: What it is for.
        describes: Whether the format supports an instruction set.
    """

    title: str
    extension: str
    content_type: str
    write: Callable[[Row], str]
    hint: str = ""
    describes: Callable[[str], bool] = lambda isa: True


def _mapping_json(row: PortMapping) -> str:
    document = write_mapping_json(
        load_mapping(row), name=row.name, isa=row.isa.name, note=row.note, source=row.source
    )
    return json_by_line({**document, "provenance": _provenance(row)}, long="usage")


def _mapping3(row: PortMapping) -> str:
    document = write_mapping3(row.name, load_mapping(row))
    return json_by_line({**document, "provenance": _provenance(row)}, long="assignment")


def _provenance(row: PortMapping) -> Json:
    """The provenance in JSON, with conflicts by scheme, for which such files have no other place."""
    conflicts = {
        scheme: [conflict.words for conflict in texts]
        for (_, scheme), texts in conflicts_of([row.pk]).items()
    }
    return {**provenance_of(row).as_json(), **({NOT_SETTLED: conflicts} if conflicts else {})}


def _llvm_td(row: PortMapping) -> str:
    mapping = exported_mapping(row)
    return write_llvm_td(mapping, opcodes_of(mapping))


def _resource_json(row: ResourceMapping) -> str:
    document = write_resource_json(
        load_resource_mapping(row), name=row.name, isa=row.isa.name, note=row.note, source=row.source
    )
    return json_by_line({**document, "provenance": provenance_of(row).as_json()}, long="loads")


def _diagram(row: StoredCoreModel) -> str:
    return write_diagram(row.name, overview_of(row), port_labels(row))


def _kinds_csv(row: StoredCoreModel) -> str:
    return write_kinds_csv(row.name, overview_of(row), port_labels(row), unsettled_kinds(row))


def _core_model_json(row: StoredCoreModel) -> str:
    model = core_model_of(row)
    document = core_model_json(
        model, name=row.name, isa=row.isa.name, note=row.note, port_names=row.port_names
    )
    return core_model_text(document)


def _experiment_csv(row: ExperimentSet) -> str:
    tools = tools_of(row)
    head = provenance_of(row).commented("#")
    return write_experiment_csv(measured_in_parts(row), tools=tools, head=head)


def _experiment_list(row: ExperimentSet) -> str:
    parts = write_experiment_list(row.name, measured_in_parts(row), provenance_of(row).as_json())
    return "".join(parts)


def _is_assembled(isa: str) -> bool:
    return target_of(isa).bodies is not None


def _has_models(isa: str) -> bool:
    tools = target_of(isa).tools
    return tools is not None and bool(tools.models)


_JSON = "json", "application/json"
_CSV = "csv", "text/csv"
_YAML = "application/yaml"


def _osaca(write: Callable[[Row], str]) -> Export[Row]:
    title = "OSACA machine model (YAML)"
    return Export(title, "yml", _YAML, write, "OSACA predicts with it", _is_assembled)


def _uops_info(write: Callable[[Row], str], hint: str) -> Export[Row]:
    return Export("XML like uops.info's", "xml", "application/xml", write, hint)


def _llvm(write: Callable[[Row], str]) -> Export[Row]:
    title, hint = "LLVM scheduling model (TableGen)", "a draft, with the evidence on every line"
    return Export(title, "td", "text/plain", write, hint, _is_assembled)


def _exegesis(mode: str) -> Export[StoredCoreModel]:
    title = f"llvm-exegesis benchmarks: {mode} (YAML)"
    hint = "llvm-exegesis -mode=analysis compares LLVM's scheduling model with it"
    return Export(title, "yaml", _YAML, partial(exegesis_of, mode=mode), hint, has_llvm_instances)


MAPPING_EXPORTS: Mapping[str, Export[PortMapping]] = {
    "json": Export("port mapping (JSON)", *_JSON, _mapping_json, "all there is to it; imports again"),
    "pmevo": Export("PMEvo Mapping3 (JSON)", *_JSON, _mapping3, "for PMEvo's tools; imports again"),
    "csv": Export(
        "scheme table (CSV)",
        *_CSV,
        lambda row: write_mapping_csv(exported_mapping(row)),
        "for spreadsheets and scripts",
    ),
    "uops-info": _uops_info(
        lambda row: write_uops_info_xml(exported_mapping(row)),
        "for tools that read instructions.xml; imports again",
    ),
    "osaca": _osaca(lambda row: write_osaca_yaml(exported_mapping(row))),
    "llvm": _llvm(_llvm_td),
}
RESOURCE_EXPORTS: Mapping[str, Export[ResourceMapping]] = {
    "json": Export("resource mapping (JSON)", *_JSON, _resource_json),
}
EXEGESIS_MODES = {
    "exegesis": LATENCY,
    "exegesis-throughput": THROUGHPUT,
    "exegesis-uops": UOPS,
}
"""{export format: mode}; a file has one mode."""

CORE_MODEL_EXPORTS: Mapping[str, Export[StoredCoreModel]] = {
    "json": Export("core model (JSON)", *_JSON, _core_model_json, "all there is to it; imports again"),
    "diagram-svg": Export(
        "core diagram (SVG)",
        "svg",
        "image/svg+xml",
        _diagram,
        "front end, slots, and a box per port with what it runs",
    ),
    "kinds-csv": Export(
        "kinds of instructions by port (CSV)",
        *_CSV,
        _kinds_csv,
        "what the diagram shows, for spreadsheets and scripts",
    ),
    "osaca": _osaca(osaca_of),
    "uops-info": _uops_info(uops_info_of, "for tools that read instructions.xml: ports and latencies"),
    "llvm": _llvm(llvm_of),
    "llvm-patch": Export(
        "patch of LLVM's scheduling model (diff)",
        "patch",
        "text/plain",
        llvm_patch_of,
        "what measurements contradict in LLVM's own sources",
        _has_models,
    ),
    **{key: _exegesis(mode) for key, mode in EXEGESIS_MODES.items()},
}
SET_EXPORTS: Mapping[str, Export[ExperimentSet]] = {
    "csv": Export("experiments (CSV)", *_CSV, _experiment_csv, "settled ones; imports again"),
    "pmevo": Export(
        "PMEvo ExperimentList (JSON)", *_JSON, _experiment_list, "for PMEvo's tools; imports again"
    ),
}
