"""Rows as files: one entry per export format, for commands and pages alike."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from inference.exchange.experiment_csv import write_experiment_csv
from inference.exchange.mapping_json import write_mapping_json
from inference.exchange.pmevo_json import write_mapping3
from inference.exchange.resource_json import write_resource_json
from inference.exchange.resource_mappings import load_resource_mapping
from inference.exchange.stored import load_mapping, load_measurements
from inference.models import ExperimentSet, PortMapping, ResourceMapping

Row = TypeVar("Row")


@dataclass(frozen=True)
class Export(Generic[Row]):
    """A way to write a row: its title, the file's extension and content type, and the writer of the text."""

    title: str
    extension: str
    content_type: str
    write: Callable[[Row], str]


def _mapping_json(row: PortMapping) -> str:
    document = write_mapping_json(
        load_mapping(row), name=row.name, isa=row.isa.name, note=row.note, source=row.source
    )
    return _text(document, long="usage")


def _mapping3(row: PortMapping) -> str:
    return _text(write_mapping3(row.name, load_mapping(row)), long="assignment")


def _resource_json(row: ResourceMapping) -> str:
    document = write_resource_json(
        load_resource_mapping(row), name=row.name, isa=row.isa.name, note=row.note, source=row.source
    )
    return _text(document, long="loads")


def _text(document: Mapping[str, Any], long: str) -> str:
    """A JSON object with one line per key, and one per key inside the long one: good to read and compare."""

    def dumps(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)

    lines = []
    for key, value in document.items():
        if key == long:
            inner = ",\n".join(f"  {dumps(name)}: {dumps(entry)}" for name, entry in value.items())
            lines.append(f" {dumps(key)}: {{\n{inner}\n }}")
        else:
            lines.append(f" {dumps(key)}: {dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _experiment_csv(row: ExperimentSet) -> str:
    return write_experiment_csv(load_measurements(row))


MAPPING_EXPORTS: Mapping[str, Export[PortMapping]] = {
    "json": Export("port mapping (JSON)", "json", "application/json", _mapping_json),
    "pmevo": Export("PMEvo Mapping3 (JSON)", "json", "application/json", _mapping3),
}
RESOURCE_EXPORTS: Mapping[str, Export[ResourceMapping]] = {
    "json": Export("resource mapping (JSON)", "json", "application/json", _resource_json),
}
SET_EXPORTS: Mapping[str, Export[ExperimentSet]] = {
    "csv": Export("experiments (CSV)", "csv", "text/csv", _experiment_csv),
}
