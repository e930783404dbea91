"""Published and recorded data that benchmarks read; what is not there is a `MissingDataError`."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from django.conf import settings

from benchmarks import MissingDataError
from inference.core.core_model import CoreModel
from inference.core.experiment import Measured
from inference.core.mapping import PortMapping, uops_of
from inference.formats.core_model_json import read_core_model
from inference.formats.parsing import AnyNames, parse


def published(name: str) -> Path:
    """A file or a folder of the published data."""
    path: Path = settings.SHARED / "data" / name
    if not path.exists():
        raise MissingDataError(f"no {name} in {settings.SHARED / 'data'}: set PMWEB_SHARED")
    return path


def zen5_results(*names: str) -> list[Measured]:
    """The usable measurements of sets that were recorded on a Zen 5."""
    files = [published(f"zen5/{name}") for name in names]
    results = (
        result for file in files for result in parse(file.read_bytes(), file.name, AnyNames()).measured
    )
    return [result for result in results if result.usable and result.cycles]


def zen5_core() -> CoreModel:
    """The recorded core model of a Zen 5."""
    return read_core_model(published("zen5/core_model.json").read_bytes()).model()


def zen5_core_of_mixes() -> CoreModel:
    """The same for mixes, whose registers differ, and none of which is a move."""
    nothing: frozenset[str] = frozenset()
    return replace(zen5_core(), free=nothing, portless=nothing, moves=nothing)


def block_rows(name: str) -> Iterator[list[str]]:
    """Rows of a file of blocks, without comments and headings: the code in hexadecimal, then numbers."""
    with published(name).open(newline="") as file:
        for row in csv.reader(line for line in file if not line.startswith("#")):
            if row and row[0] and row[0] != "bb":
                yield row


def mapping_by_ports(ports: str, usage: Mapping[str, str], r_max: float | None = None) -> PortMapping:
    """A mapping in which each µop is written as its ports, "0123 45", every port as one sign."""
    uops = {
        scheme: uops_of((sum(1 << ports.index(port) for port in uop), 1) for uop in written.split())
        for scheme, written in usage.items()
    }
    return PortMapping(tuple(ports), uops, r_max)
