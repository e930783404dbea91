"""Texts from anywhere in every field of what is exported: no format takes them for more than texts.

The writers are called with values that no reader would let in: rows of earlier releases may have them. A file
with hostile texts is compared with the same file with harmless ones: both have the same lines, rows, keys,
elements and definitions.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest
from hypothesis import given

from inference.core.core_model import CoreModel, core_overview
from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping
from inference.core.resources import ResourceMapping
from inference.core.texts import as_single_line, is_line
from inference.figures.core_diagram import core_drawing
from inference.figures.svg import graph_drawing, port_usage_drawing
from inference.formats.core_model_json import core_model_json, core_model_text, read_core_model
from inference.formats.exegesis import (
    LlvmInstances,
    write_block_exegesis,
    write_exegesis,
    write_exegesis_yaml,
)
from inference.formats.experiment_csv import read_experiment_csv, write_experiment_csv
from inference.formats.exports import ExportedCore, ExportedMapping, ExportedScheme, SchemeEvidence
from inference.formats.llvm_patch.shipped import ShippedModel
from inference.formats.llvm_patch.writing import patch_of
from inference.formats.llvm_td import Opcodes, write_llvm_td
from inference.formats.mapping_json import write_mapping_csv, write_mapping_json, write_resource_json
from inference.formats.osaca_yaml import write_osaca_core, write_osaca_yaml
from inference.formats.pmevo_json import write_experiment_list, write_mapping3
from inference.formats.problems import ExchangeError
from inference.formats.provenance import Provenance, head_of
from inference.formats.quoting import csv_text, json_by_line
from inference.formats.source import Source
from inference.formats.uops_info_xml_writing import write_core_xml, write_uops_info_xml
from inference.isa.domains import STORES, UNIT_CLASSES
from inference.isa.llvm_tblgen import sources_in
from inference.measuring.blocks import BlockOptions
from inference.storage.exporting import (
    CORE_MODEL_EXPORTS,
    EXEGESIS_MODES,
    MAPPING_EXPORTS,
    RESOURCE_EXPORTS,
    SET_EXPORTS,
)
from tests.drawn import examples
from tests.formats.exports import ADD, CORE, LATENCIES, USAGE, exported_mapping, exported_toy_core
from tests.formats.real_tools import llvm
from tests.formats.test_llvm_patch import LLVM, OPCODES, shipped
from tests.formats.test_mapping_exports import INSTANCES
from tests.hostile_texts import (
    HARMLESS,
    WORST,
    Shape,
    Texts,
    hostile_texts,
    shape_of_csv,
    shape_of_json,
    shape_of_lines,
    shape_of_xml,
    shape_of_yaml,
    texts_like,
)

BLOCK = bytes.fromhex("4801d8")


def provenance(new: Texts) -> Provenance:
    return Provenance(((new(), new()), ("note", f"{new()}\n{new()}")), (new(),))


def mapping_of(new: Texts) -> ExportedMapping:
    """A small mapping with new texts wherever it has some, and a scheme that no instruction set has."""
    mapping = exported_mapping(issue_width=4.0)
    ports = tuple(new() for _ in mapping.value.ports)
    schemes = [
        replace(
            scheme,
            extension=new(),
            category=new(),
            evidence=SchemeEvidence(1.5, 2.0, 1, (new(), new())),
        )
        for scheme in mapping.schemes
    ]
    operand = {**schemes[0].operands[0], "name": new()}
    schemes.append(ExportedScheme(new(), new(), [operand], new(), new(), ((1, 1),), 1.0))
    usage = {**USAGE, schemes[-1].text: ((1, 1),)}
    value = PortMapping(ports, usage, mapping.value.r_max, mapping.value.issue_width)
    return ExportedMapping(new(), mapping.isa, value, tuple(schemes), provenance(new), mapping.tools)


def core_of(new: Texts) -> ExportedCore:
    """The same of a core model, with texts in its latencies."""
    core = exported_toy_core()
    ports = tuple(new() for _ in core.mapping.value.ports)
    value = replace(core.mapping.value, ports=ports)
    schemes = tuple(
        replace(scheme, extension=new(), evidence=SchemeEvidence(1.5, None, 1, (new(),)))
        for scheme in core.mapping.schemes
    )
    model = CoreModel(
        replace(CORE.mapping, ports=ports) if CORE.mapping is not None else None,
        {**LATENCIES, new(): {("1", "1"): 2.0, (new(), new()): 1.0}},
        {ADD: {("1", "1"): new()}},
        moves=CORE.moves,
        alone={**CORE.alone, new(): 1.0},
        memory=CORE.memory,
        sources={new(): new(), new(): new()},
    )
    facts = (*model.sources.items(), *provenance(new).facts)
    mapping = replace(
        core.mapping, name=new(), value=value, schemes=schemes, provenance=Provenance(facts, (new(),))
    )
    return ExportedCore(mapping, model, core.alone)


def measured(new: Texts) -> list[Measured]:
    return [
        Measured(Experiment.of({new(): 1, new(): 2}), 1.5, note=new(), annotations={new(): 2.0}),
        Measured(Experiment.of([new()]), 1.0, note=f"{new()}\r{new()}"),
    ]


# Each export, of values alone.


def _mapping_json(new: Texts) -> str:
    value = mapping_of(new).value
    document = write_mapping_json(value, name=new(), isa=new(), note=new(), source=new())
    return json_by_line({**document, "provenance": provenance(new).as_json()}, long="usage")


def _mapping3(new: Texts) -> str:
    document = write_mapping3(new(), mapping_of(new).value)
    return json_by_line({**document, "provenance": provenance(new).as_json()}, long="assignment")


def _resource_json(new: Texts) -> str:
    value = ResourceMapping((new(), new()), {new(): ((0, 1.0), (1, 0.5)), new(): ((1, 1.0),)})
    document = write_resource_json(value, name=new(), isa=new(), note=new(), source=new())
    return json_by_line({**document, "provenance": provenance(new).as_json()}, long="loads")


def _core_json(new: Texts) -> str:
    core = core_of(new)
    names = {port: new() for port in core.mapping.value.ports}
    return core_model_text(core_model_json(core.model, name=new(), isa=new(), note=new(), port_names=names))


def _opcodes(new: Texts) -> Opcodes:
    return Opcodes(OPCODES.by_text, new(), new())


def _diagram(new: Texts) -> str:
    core = core_of(new)
    kinds = {scheme.text: "add" for scheme in core.mapping.schemes}
    overview = core_overview(core.model, kinds, UNIT_CLASSES, STORES)
    return core_drawing(overview, {port: new() for port in core.mapping.value.ports}).file()


def _kinds_csv(new: Texts) -> str:
    return csv_text(("kind", new()), [[new(), 1.5], [f"{new()}\r{new()}", None]], head_of(**{new(): new()}))


@cache
def _shipped() -> ShippedModel:
    return shipped()


def shape_of_patch(text: str) -> Shape:
    """How many lines stand ahead of the first file, the files that git and patch change, and the lines."""
    head, _, diff = text.partition("\n\n")
    return len(shape_of_lines(head)), files_by_git(text), files_by_patch(text), shape_of_lines(diff)


def files_by_git(text: str) -> list[str]:
    done = subprocess.run(
        ["git", "apply", "--numstat"], input=text.encode(), cwd="/", capture_output=True, check=True
    )
    return done.stdout.decode().splitlines()


def files_by_patch(text: str) -> list[str]:
    command = ["patch", "-p1", "--dry-run", "--force", "-d", str(LLVM)]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    return done.stdout.decode().splitlines()


def _patch(new: Texts) -> str:
    return patch_of(core_of(new), _opcodes(new), _shipped(), sources_in(LLVM, "X86"))


Writer = Callable[[Texts], str]
Reader = Callable[[str], Shape]

OF_MAPPINGS: Mapping[str, tuple[Writer, Reader]] = {
    "json": (_mapping_json, shape_of_json),
    "pmevo": (_mapping3, shape_of_json),
    "csv": (lambda new: write_mapping_csv(mapping_of(new)), shape_of_csv),
    "uops-info": (lambda new: write_uops_info_xml(mapping_of(new)), shape_of_xml),
    "osaca": (lambda new: write_osaca_yaml(mapping_of(new)), shape_of_yaml),
    "llvm": (lambda new: write_llvm_td(mapping_of(new), _opcodes(new)), shape_of_lines),
}
OF_RESOURCES: Mapping[str, tuple[Writer, Reader]] = {"json": (_resource_json, shape_of_json)}
OF_SETS: Mapping[str, tuple[Writer, Reader]] = {
    "csv": (
        lambda new: write_experiment_csv(measured(new), head=provenance(new).commented("#")),
        shape_of_csv,
    ),
    "pmevo": (
        lambda new: "".join(write_experiment_list(new(), measured(new), provenance(new).as_json())),
        shape_of_json,
    ),
}


def _exegesis(mode: str, new: Texts) -> str:
    return write_exegesis_yaml(core_of(new), LlvmInstances(INSTANCES.by_text, new()), mode)


OF_CORES: Mapping[str, tuple[Writer, Reader]] = {
    "json": (_core_json, shape_of_json),
    "diagram-svg": (_diagram, shape_of_xml),
    "kinds-csv": (_kinds_csv, shape_of_csv),
    "osaca": (lambda new: write_osaca_core(core_of(new)), shape_of_yaml),
    "uops-info": (lambda new: write_core_xml(core_of(new)), shape_of_xml),
    "llvm": (lambda new: write_llvm_td((core := core_of(new)).mapping, _opcodes(new), core), shape_of_lines),
    "llvm-patch": (_patch, shape_of_patch),
    **{key: (partial(_exegesis, mode), shape_of_yaml) for key, mode in EXEGESIS_MODES.items()},
}
SNIPPETS: Mapping[str, tuple[Writer, Reader]] = {
    "snippet": (
        lambda new: write_exegesis("x86-64", Experiment.of([ADD]), (new(), new())),
        shape_of_lines,
    ),
    "block snippet": (
        lambda new: write_block_exegesis(BLOCK, [], (new(), new()), BlockOptions().start),
        shape_of_lines,
    ),
    "graph": (lambda new: graph_drawing(mapping_of(new).value).file(), shape_of_xml),
    "ports": (lambda new: port_usage_drawing(mapping_of(new).value).inline(), shape_of_xml),
}
REGISTRIES = {
    "mapping": (MAPPING_EXPORTS, OF_MAPPINGS),
    "resource mapping": (RESOURCE_EXPORTS, OF_RESOURCES),
    "set": (SET_EXPORTS, OF_SETS),
    "core model": (CORE_MODEL_EXPORTS, OF_CORES),
}
WRITERS = {
    f"{kind}: {name}": pair
    for kind, writers in (*((kind, pair[1]) for kind, pair in REGISTRIES.items()), ("", SNIPPETS))
    for name, pair in writers.items()
}


@pytest.mark.parametrize("kind", REGISTRIES)
def test_every_export_is_tried(kind: str) -> None:
    exports, writers = REGISTRIES[kind]
    assert set(writers) == set(exports), "add the writer of the export here"


@cache
def shape_of_harmless(name: str) -> Shape:
    write, read = WRITERS[name]
    return read(write(texts_like(HARMLESS)))


@pytest.mark.parametrize("name", WRITERS)
def test_a_text_is_nothing_but_a_text(name: str) -> None:
    write, read = WRITERS[name]
    for text in WORST:
        made = write(texts_like(text))
        made.encode()
        assert read(made) == shape_of_harmless(name), ascii(text)


@pytest.mark.parametrize("name", WRITERS)
@examples(20)
@given(text=hostile_texts)
def test_a_drawn_text_is_nothing_but_a_text(name: str, text: str) -> None:
    write, read = WRITERS[name]
    assert read(write(texts_like(text))) == shape_of_harmless(name)


def test_table_generation_defines_the_same_whatever_the_labels_are(tmp_path: Path) -> None:
    program, release = llvm("llvm-tblgen")
    before_18 = ["-DPMWEB_BEFORE_LLVM_18"] if release < 18 else []

    def records(text: str) -> int:
        file = tmp_path / "model.td"
        core = core_of(texts_like(text))
        file.write_text(write_llvm_td(core.mapping, _opcodes(texts_like(text)), core), encoding="utf-8")
        command = [program, "-DPMWEB_STANDALONE", *before_18, "-dump-json", str(file)]
        return len(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))

    expected = records(HARMLESS)
    for text in WORST[::6]:
        assert records(text) == expected, ascii(text)


def test_llvm_exegesis_and_mca_take_no_label_for_a_directive() -> None:
    for text in WORST:
        for name in ("snippet", "block snippet"):
            for line in SNIPPETS[name][0](texts_like(text)).splitlines():
                directive = line.startswith(("# LLVM-", "# OSACA-"))
                assert not (directive and "PWNED" in line), line


@given(text=hostile_texts)
@examples(30)
def test_a_table_of_measurements_reads_again(text: str) -> None:
    """What the importer lets in comes out the same; names are lines there."""
    new = texts_like("".join(filter(str.isprintable, as_single_line(text))).replace(";", ""))
    rows = [Measured(Experiment.of({f"a {new()}": 2}), 1.5, note=new(), annotations={f"t {new()}": 2.0})]
    source = Source("a.csv", write_experiment_csv(rows, head=provenance(texts_like(text)).commented("#")))
    (entry,) = read_experiment_csv(source).experiments
    assert not source.problems
    assert dict(entry.terms) == dict(rows[0].experiment.terms)
    assert (entry.note, dict(entry.annotations)) == (rows[0].note, dict(rows[0].annotations))


def test_a_core_model_with_harmless_texts_reads_again_and_others_are_refused() -> None:
    def document(text: str) -> str:
        model = replace(CORE, sources={text: "the mapping", "latencies": text})
        return json.dumps(core_model_json(model, name="toy", isa="x86-64", note="two\nlines"))

    assert read_core_model(document("harmless words, µ and é")).model().sources["latencies"].endswith("é")
    for text in WORST:
        if is_line(text):
            assert text in read_core_model(document(text)).sources
        else:
            with pytest.raises(ExchangeError, match="this core model cannot be read"):
                read_core_model(document(text))
