"""The file formats that can be imported, in the order in which they are recognised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from inference.formats.document import Document
from inference.formats.exegesis_reading import (
    is_exegesis_latency,
    is_exegesis_throughput,
    read_exegesis_latency,
    read_exegesis_throughput,
)
from inference.formats.experiment_columns import HEADER
from inference.formats.experiment_csv import is_experiment_csv, read_experiment_csv
from inference.formats.explained_json import is_explained, read_explained
from inference.formats.file_units import FileUnit
from inference.formats.mapping_json import is_mapping_json, read_mapping_json
from inference.formats.osaca_reading import (
    is_osaca_latency,
    is_osaca_ports,
    read_osaca_latency,
    read_osaca_ports,
)
from inference.formats.palmed_json import is_name_list, is_palmed, read_name_list, read_palmed
from inference.formats.pmevo_json import is_experiment_list, is_mapping3, read_experiment_list, read_mapping3
from inference.formats.problems import Problems
from inference.formats.rejects_json import is_rejects, read_rejects_alone
from inference.formats.resource_json import is_resource_json, read_resource_json
from inference.formats.source import Source
from inference.formats.uops_info_digest import (
    is_digest,
    is_measured_digest,
    read_digest,
    read_measured_digest,
)
from inference.formats.uops_info_json import is_uops_info, read_uops_info
from inference.formats.winic_yaml import (
    is_winic_latency,
    is_winic_throughput,
    read_winic_latency,
    read_winic_throughput,
)


class FileContent(StrEnum):
    """What a file brings."""

    EXPERIMENTS = "experiments"
    MAPPING = "mapping"
    RESOURCES = "resources"
    LATENCIES = "latencies"
    NAMES = "names"
    REJECTS = "rejects"


@dataclass(frozen=True)
class Format:
    """A file format: how to recognise and how to read it.

    `read(source, problems, unit)` never raises for what the file says; it notes problems instead. `unit` is
    that of measurements which do not name theirs, None for the one that they seem to have.
    """

    key: str
    title: str
    content: FileContent
    matches: Callable[[Source], bool]
    read: Callable[[Source, Problems, FileUnit | None], Document]


FORMATS = (
    Format("mapping-json", "port mapping (JSON)", FileContent.MAPPING, is_mapping_json, read_mapping_json),
    Format(
        "resource-json",
        "resource mapping (JSON)",
        FileContent.RESOURCES,
        is_resource_json,
        read_resource_json,
    ),
    Format(
        "pmevo-experiments",
        "PMEvo ExperimentList (JSON)",
        FileContent.EXPERIMENTS,
        is_experiment_list,
        read_experiment_list,
    ),
    Format("pmevo-mapping", "PMEvo Mapping3 (JSON)", FileContent.MAPPING, is_mapping3, read_mapping3),
    Format(
        "explained-mapping",
        "explainable port mapping (JSON)",
        FileContent.MAPPING,
        is_explained,
        read_explained,
    ),
    Format(
        "explained-rejects",
        "rejects of an explainable run (JSON)",
        FileContent.REJECTS,
        is_rejects,
        read_rejects_alone,
    ),
    Format("uops-info-xml", "instructions.xml of uops.info", FileContent.MAPPING, is_digest, read_digest),
    Format(
        "uops-info-measured",
        "measurements of uops.info (instructions.xml)",
        FileContent.EXPERIMENTS,
        is_measured_digest,
        read_measured_digest,
    ),
    Format("uops-info", "port usages of uops.info (JSON)", FileContent.MAPPING, is_uops_info, read_uops_info),
    Format("palmed-mapping", "Palmed resource mapping (JSON)", FileContent.RESOURCES, is_palmed, read_palmed),
    Format("palmed-names", "Palmed name list (JSON)", FileContent.NAMES, is_name_list, read_name_list),
    Format(
        "exegesis-throughput",
        "llvm-exegesis, inverse throughput (YAML)",
        FileContent.EXPERIMENTS,
        is_exegesis_throughput,
        read_exegesis_throughput,
    ),
    Format(
        "exegesis-latency",
        "llvm-exegesis, latency (YAML)",
        FileContent.LATENCIES,
        is_exegesis_latency,
        read_exegesis_latency,
    ),
    Format(
        "osaca-ports", "OSACA machine model (YAML)", FileContent.MAPPING, is_osaca_ports, read_osaca_ports
    ),
    Format(
        "osaca-latencies",
        "latencies of an OSACA machine model (YAML)",
        FileContent.LATENCIES,
        is_osaca_latency,
        read_osaca_latency,
    ),
    Format(
        "winic-throughputs",
        "throughputs of WINIC (YAML)",
        FileContent.EXPERIMENTS,
        is_winic_throughput,
        read_winic_throughput,
    ),
    Format(
        "winic-latencies",
        "latencies of WINIC (YAML)",
        FileContent.LATENCIES,
        is_winic_latency,
        read_winic_latency,
    ),
    Format(
        "experiment-csv", "experiments (CSV)", FileContent.EXPERIMENTS, is_experiment_csv, read_experiment_csv
    ),
)


def format_of(source: Source) -> Format | None:
    """The format of a readable file."""
    return next((known for known in FORMATS if known.matches(source)), None)


def known_formats() -> str:
    """The titles of all formats and how a CSV begins, for messages."""
    return f"{', '.join(known.title for known in FORMATS)}; a CSV has the header {HEADER}"
