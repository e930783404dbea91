"""The formats of files that can be imported, in the order of their detection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from inference.formats import (
    agner_tables,
    exegesis_reading,
    experiment_csv,
    insn_bench_tables,
    instlat_dumps,
    mapping_json,
    measured_rows,
    osaca_reading,
    palmed_json,
    rejects_json,
    rvv_bench_tables,
    uops_info_digest,
    winic_yaml,
)
from inference.formats.document import Document
from inference.formats.pmevo_json import read_experiment_list, read_mapping3
from inference.formats.source import Signature, Source


class FileContent(StrEnum):
    EXPERIMENTS = "experiments"
    MAPPING = "mapping"
    RESOURCES = "resources"
    LATENCIES = "latencies"
    NAMES = "names"
    REJECTS = "rejects"


@dataclass(frozen=True)
class Format:
    """A file format: its signature and its reader.

    `read` notes problems of the file instead of raising. Where a file has several parts, each part is a
    format: `reads_part` tells whether it is the requested one; None for the part that the formats above
    leave.
    """

    key: str
    title: str
    content: FileContent
    signature: Signature
    read: Callable[[Source], Document]
    reads_part: Callable[[Source], bool] | None = None

    def reads(self, source: Source) -> bool:
        return self.signature.is_of(source) and (self.reads_part is None or self.reads_part(source))


FORMATS = (
    Format(
        "mapping-json",
        "port mapping (JSON)",
        FileContent.MAPPING,
        Signature(format=mapping_json.FORMAT_NAME),
        mapping_json.read_mapping_json,
    ),
    Format(
        "resource-json",
        "resource mapping (JSON)",
        FileContent.RESOURCES,
        Signature(format=mapping_json.RESOURCE_FORMAT),
        mapping_json.read_resource_json,
    ),
    Format(
        "pmevo-experiments",
        "PMEvo ExperimentList (JSON)",
        FileContent.EXPERIMENTS,
        Signature(kind="ExperimentList", keys=({"exps"},)),
        read_experiment_list,
    ),
    Format(
        "pmevo-mapping",
        "PMEvo Mapping3 (JSON)",
        FileContent.MAPPING,
        Signature(kind="Mapping3", keys=({"assignment"},)),
        read_mapping3,
    ),
    Format(
        "explained-mapping",
        "explainable port mapping (JSON)",
        FileContent.MAPPING,
        Signature(keys=({rejects_json.RATE, "data"},)),
        rejects_json.read_explained,
    ),
    Format(
        "explained-rejects",
        "rejects of an explainable run (JSON)",
        FileContent.REJECTS,
        rejects_json.SIGNATURE,
        rejects_json.read_rejects_alone,
    ),
    Format(
        "uops-info-xml",
        "instructions.xml of uops.info",
        FileContent.MAPPING,
        Signature(format=uops_info_digest.DIGEST),
        uops_info_digest.read_digest,
        uops_info_digest.reads_usages,
    ),
    Format(
        "uops-info-measured",
        "measurements of uops.info (instructions.xml)",
        FileContent.EXPERIMENTS,
        Signature(format=uops_info_digest.DIGEST),
        uops_info_digest.read_measured_digest,
    ),
    Format(
        "uops-info",
        "port usages of uops.info (JSON)",
        FileContent.MAPPING,
        Signature(shape=uops_info_digest.has_measurements),
        uops_info_digest.read_uops_info,
    ),
    Format(
        "palmed-mapping",
        "Palmed resource mapping (JSON)",
        FileContent.RESOURCES,
        Signature(keys=({palmed_json.INSTRUCTIONS}, {palmed_json.CLASSES})),
        palmed_json.read_palmed,
    ),
    Format(
        "palmed-names",
        "Palmed name list (JSON)",
        FileContent.NAMES,
        palmed_json.NAME_LIST,
        palmed_json.read_name_list,
    ),
    Format(
        "exegesis-throughput",
        "llvm-exegesis, inverse throughput (YAML)",
        FileContent.EXPERIMENTS,
        exegesis_reading.SIGNATURE,
        exegesis_reading.read_exegesis_throughput,
        exegesis_reading.reads_throughput,
    ),
    Format(
        "exegesis-latency",
        "llvm-exegesis, latency (YAML)",
        FileContent.LATENCIES,
        exegesis_reading.SIGNATURE,
        exegesis_reading.read_exegesis_latency,
    ),
    Format(
        "osaca-ports",
        "OSACA machine model (YAML)",
        FileContent.MAPPING,
        osaca_reading.SIGNATURE,
        osaca_reading.read_osaca_ports,
        osaca_reading.reads_ports,
    ),
    Format(
        "osaca-latencies",
        "latencies of an OSACA machine model (YAML)",
        FileContent.LATENCIES,
        osaca_reading.SIGNATURE,
        osaca_reading.read_osaca_latency,
    ),
    Format(
        "winic-throughputs",
        "throughputs of WINIC (YAML)",
        FileContent.EXPERIMENTS,
        winic_yaml.SIGNATURE,
        winic_yaml.read_winic_throughput,
        winic_yaml.reads_throughputs,
    ),
    Format(
        "winic-latencies",
        "latencies of WINIC (YAML)",
        FileContent.LATENCIES,
        winic_yaml.SIGNATURE,
        winic_yaml.read_winic_latency,
    ),
    Format(
        "instlat-throughputs",
        "throughputs of an InstLatX64 dump (text)",
        FileContent.EXPERIMENTS,
        instlat_dumps.SIGNATURE,
        instlat_dumps.read_instlat_throughput,
        measured_rows.reads_throughputs,
    ),
    Format(
        "instlat-latencies",
        "latencies of an InstLatX64 dump (text)",
        FileContent.LATENCIES,
        instlat_dumps.SIGNATURE,
        instlat_dumps.read_instlat_latency,
    ),
    Format(
        "insn-bench-throughputs",
        "throughputs of insn_bench_aarch64 (Markdown)",
        FileContent.EXPERIMENTS,
        insn_bench_tables.SIGNATURE,
        insn_bench_tables.read_insn_bench_throughput,
        measured_rows.reads_throughputs,
    ),
    Format(
        "insn-bench-latencies",
        "latencies of insn_bench_aarch64 (Markdown)",
        FileContent.LATENCIES,
        insn_bench_tables.SIGNATURE,
        insn_bench_tables.read_insn_bench_latency,
    ),
    Format(
        "rvv-bench-throughputs",
        "throughputs of rvv-bench (HTML)",
        FileContent.EXPERIMENTS,
        rvv_bench_tables.SIGNATURE,
        rvv_bench_tables.read_rvv_bench,
    ),
    Format(
        "agner-ports",
        "ports of a table of Agner Fog (CSV)",
        FileContent.MAPPING,
        agner_tables.SIGNATURE,
        agner_tables.read_agner_ports,
        agner_tables.reads_ports,
    ),
    Format(
        "agner-throughputs",
        "throughputs of a table of Agner Fog (CSV)",
        FileContent.EXPERIMENTS,
        agner_tables.SIGNATURE,
        agner_tables.read_agner_throughput,
        measured_rows.reads_throughputs,
    ),
    Format(
        "agner-latencies",
        "latencies of a table of Agner Fog (CSV)",
        FileContent.LATENCIES,
        agner_tables.SIGNATURE,
        agner_tables.read_agner_latency,
    ),
    Format(
        "experiment-csv",
        "experiments (CSV)",
        FileContent.EXPERIMENTS,
        experiment_csv.SIGNATURE,
        experiment_csv.read_experiment_csv,
    ),
)


def format_of(source: Source) -> Format | None:
    """The first of `FORMATS` that reads the file, None for an unknown one."""
    return next((candidate for candidate in FORMATS if candidate.reads(source)), None)
