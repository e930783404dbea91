"""What a file looks like that is in no known format, and which formats are near, for its error."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping

from inference.core.texts import count_of
from inference.formats.problems import excerpt
from inference.formats.source import Source

_PEEK = 1 << 14  # characters that decide
_LINES = 40  # of them that are looked at
_LISTED = 6  # keys or columns that a message names
_NEAR = 3  # formats that a message names
_WORD = re.compile(r"[A-Za-z_][\w-]+")

EXPERIMENTS = "experiments (CSV; its title row has experiment and cycles)"
BLOCKS = "basic blocks (CSV; its first column is bb)"
CLUES: Mapping[str, str] = {
    "port mapping (JSON)": "ports usage r_max isa version pmweb-port-mapping",
    "resource mapping (JSON)": "resources loads pmweb-resource-mapping",
    "PMEvo ExperimentList (JSON)": "exps iseq result cycles ExperimentList other_results",
    "PMEvo Mapping3 (JSON)": "assignment insns ports Mapping3 Mapping2 arch",
    "explainable port mapping (JSON)": "peakipc portusage itp numuops uarchname",
    "port usages of uops.info (JSON)": "measurements SKL HSW ZEN isa-set p0156 p23 ports uops",
    "instructions.xml of uops.info": "instruction operand architecture measurement latency extension",
    "Palmed resource mapping (JSON)": "instr_to_class class_to_resources resource_use",
    "llvm-exegesis (YAML)": "mode key measurements inverse_throughput cpu_name llvm_triple per_snippet_value",
    "OSACA machine model (YAML)": "instruction_forms osaca_version arch_code port_pressure load_latency",
    "database of WINIC (YAML)": "llvmName operandLatencies throughput throughputMax latencyMin sourceOperand",
    EXPERIMENTS: "experiment cycles unit note ipc cpi instruction instructions throughput latency operands",
    BLOCKS: "bb hex block bytes code cycles throughput weight origin machine",
    "blocks of gematria (text protobuf)": "basic_blocks basic_block inverse_throughputs mnemonic",
    "predictions of llvm-mca (JSON)": "CodeRegions SummaryView TargetInfo TotalCycles Iterations",
    "dump of InstLatX64 (text)": "CPUID InstLatX64 Latency ns clk throughput AIDA64",
    "table of Agner Fog (CSV)": "Instruction Operands Ops Latency Reciprocal throughput Pipe",
    "table of insn_bench_aarch64 (Markdown)": "Instruction Latency Throughput cycles insn_bench aarch64",
    "tables of rvv-bench (HTML)": "RVV benchmark VLEN VLMAX e8m1 e32m1 vadd.vv tblMaa",
    "output of nanoBench": "Instructions retired Core cycles Reference UOPS_ISSUED CORE_CYCLES",
    "benchmarks of uarch-bench": "Benchmark Cycles Nanos uarch-bench Default",
    "core model (JSON)": "pmweb-core-model mapping latencies memory front_end scheduler",
    "directory of AnICA (campaign_config.json, discoveries/ …)": "abs_insns abs_aliasing predictors "
    "abstraction_config interestingness_metric trace",
}
"""{format: words that files of it have}."""

_LISTINGS = "a listing or assembly is read on the page of loops, or by `manage.py predict --why FILE`"
_EVERY = "Help, File formats, shows an example of every format"
_ASSEMBLY = re.compile(r"\s*(?:[0-9a-f]+:\s.*|\.?[a-z][\w.]*\s+[%$#\[\w-][^,]*+,.*)", re.IGNORECASE)
_YAML_KEY = re.compile(r"(?:- +)?([\w-]+):(?: |$)")
_MARKDOWN_RULE = re.compile(r"\|?\s*:?-{3,}:?\s*\|")


def appearance(source: Source) -> str:
    """What a file looks like, as a noun: `a table of 3 columns separated by commas: a, b, c`."""
    if source.is_json:
        return _json(source.data)
    beginning = source.text[:_PEEK]
    lines = [line for line in beginning.splitlines() if line.strip()][:_LINES]
    if beginning.lstrip()[:5].lower() in ("<!doc", "<html"):
        return "a web page: save the file behind it"
    if any(_MARKDOWN_RULE.match(line.strip()) for line in lines):
        return "text with a Markdown table"
    keys = [match[1] for line in lines if (match := _YAML_KEY.match(line))]
    if len(keys) * 3 > len(lines):
        return f"YAML with {_keys(list(dict.fromkeys(keys)))}"
    if _is_assembly(lines):
        return "assembly, or a listing of machine code"
    return _table(lines) or (f"text that begins with {excerpt(lines[0].strip())}" if lines else "blank")


def near_formats(source: Source) -> list[str]:
    """The titles of the formats that have most words in common with a file, at least two or one in six."""
    words = {word.lower() for word in _WORD.findall(source.text[:_PEEK])}
    scores = {}
    for title, clues in CLUES.items():
        clue_words = clues.lower().split()
        count = len(words.intersection(clue_words))
        if count > 1 or count * 6 >= len(clue_words):
            scores[title] = count / len(clue_words) + count / 100
    return sorted(scores, key=lambda title: -scores[title])[:_NEAR]


def advice(source: Source) -> str:
    """Which formats are near, and where all of them are."""
    near = near_formats(source)
    lines = source.text[:_PEEK].splitlines()[:_LINES]
    if _is_assembly(lines):
        return f"{_LISTINGS}; {_EVERY}"
    if not near and not source.is_json and _table(lines):
        near = [EXPERIMENTS, BLOCKS]
    return f"near are {'; '.join(near)}; {_EVERY}" if near else _EVERY


def _json(data: object) -> str:
    if isinstance(data, dict):
        return f"a JSON object with {_keys(list(data))}"
    if not isinstance(data, list) or not data:
        return "an empty JSON list"
    if isinstance(data[0], dict):
        return f"a JSON list of {count_of(len(data), 'object')} with {_keys(list(data[0]))}"
    return f"a JSON list of {count_of(len(data), 'entry', 'entries')}"


def _keys(names: list[str]) -> str:
    return f"the key{'s' * (len(names) != 1)} {_list_names(names)}" if names else "no key"


def _list_names(names: list[str]) -> str:
    suffix = ", …" if len(names) > _LISTED else ""
    return ", ".join(excerpt(name.strip())[1:-1] for name in names[:_LISTED]) + suffix


def _table(lines: list[str]) -> str:
    """The columns of a table whose lines have equally many cells; "" for other text."""
    rows = [line for line in lines if not line.startswith("#")]
    for separator, name in (("\t", "tabs"), (";", "semicolons"), (",", "commas")):
        try:
            records = list(csv.reader(rows, delimiter=separator))
        except csv.Error:
            continue
        if len(records) > 1 and len(records[0]) > 1 and len({len(record) for record in records[:-1]}) == 1:
            return f"a table of {len(records[0])} columns separated by {name}: {_list_names(records[0])}"
    return ""


def _is_assembly(lines: list[str]) -> bool:
    return sum(bool(_ASSEMBLY.fullmatch(line)) for line in lines) * 2 > len(lines)
