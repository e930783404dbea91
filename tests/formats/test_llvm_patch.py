"""A core model as a patch of LLVM's scheduling model: what differs, and that it becomes what was measured."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from inference.formats.llvm_patch.shipped import Override, ShippedModel, WriteCosts, shipped_model
from inference.formats.llvm_patch.writing import (
    model_difference,
    patch_of,
    places_of_overrides,
    write_llvm_patch,
)
from inference.formats.llvm_td import Opcodes
from inference.formats.problems import ExchangeError
from inference.formats.provenance import PRODUCT
from inference.isa.llvm_tblgen import records_of, sources_in
from inference.isa.microarchitecture import NO_NAMES
from tests.formats.exports import (
    ADD,
    ADD_BYTE,
    ADD_LOAD,
    ADD_TO,
    IMUL,
    LOAD,
    SHIFT,
    SHIFT_BY,
    STORE,
    VADD,
    exported_toy_core,
)

GOLDEN = Path(__file__).parent / "golden_exports" / "llvm.patch"
LLVM = Path(__file__).parent / "mini_llvm"
OPCODES = Opcodes(
    {
        ADD: "ADD64rr",
        ADD_BYTE: "ADD8rr",
        ADD_LOAD: "ADD64rm",
        ADD_TO: "ADD64mr",
        IMUL: "IMUL64rr",
        LOAD: "MOV64rm",
        STORE: "MOV64mr",
        SHIFT: "SHL64rCL",
        SHIFT_BY: "SHL64ri",
        VADD: "VADDPDYrr",
    },
    "llvm-mc 0.0",
)
CPU = "znver3"


def shipped(folder: Path = LLVM) -> ShippedModel:
    """LLVM's model, of the few classes that there are here."""
    if shutil.which("llvm-tblgen") is None:
        pytest.skip("llvm-tblgen is not on the PATH")
    return shipped_model(records_of(sources_in(folder, "X86")), CPU, "X86")


def test_what_llvm_ships_is_read_through_overrides_and_aliases() -> None:
    model = shipped()
    assert model.name == "ToyModel"
    shift, multiply, load = (model.class_of(name) for name in ("SHL64rCL", "IMUL64rr", "ADD64rm"))
    assert shift is not None
    assert shift.writes == ("ToySlow",)
    assert shift.override == 0
    assert multiply is not None
    assert model.costs[multiply.writes[0]] == WriteCosts(5, 1, (("ToyALU", 4),))
    assert load is not None
    assert (load.writes, load.reads, load.override) == (("WriteALULd",), ("ReadAfterLd",), None)
    assert model.class_of("VADDPDZrr") is None


def test_only_what_differs_beyond_the_noise_is_changed() -> None:
    found = model_difference(exported_toy_core(), OPCODES.by_text, shipped())
    changed = {each.opcode: (each.measured.latency, each.measured.resources) for each in found.changes}
    assert changed == {
        "ADD8rr": (1, (("ToyALU", 2),)),  # on two of four ports
        "IMUL64rr": (3, (("ToyALU", 4),)),
        "SHL64rCL": (2, (("ToyALU", 8),)),
        "SHL64ri": (3, (("ToyALU", 4),)),  # nobody measured its latency: LLVM's stays
    }
    assert found.left_alone == [("ADD64mr", "these files of LLVM do not have it")]


def test_the_patch_is_what_it_was() -> None:
    text = patch_of(exported_toy_core(), OPCODES, shipped(), sources_in(LLVM, "X86"))
    assert text.replace(PRODUCT, "pmweb VERSION") == GOLDEN.read_text(encoding="utf-8")


def test_llvm_takes_the_patch_and_then_nothing_differs(tmp_path: Path) -> None:
    folder = tmp_path / "llvm"
    shutil.copytree(LLVM, folder)
    core = exported_toy_core()
    patch = patch_of(core, OPCODES, shipped(folder), sources_in(folder, "X86"))
    done = subprocess.run(
        ["patch", "-p1"], input=patch, cwd=folder, text=True, capture_output=True, check=False, timeout=30
    )
    assert done.returncode == 0, done.stdout
    again = model_difference(core, OPCODES.by_text, shipped(folder))
    assert again.changes == []
    alike = shipped(folder).class_of("SHR64ri")
    assert alike is not None
    assert alike.writes == ("ToySlow",)  # nobody measured it
    assert (folder / f"test/tools/llvm-mca/X86/pmweb-{CPU}.s").read_text().count("# CHECK") == 4
    assert "there is no patch" in patch_of(core, OPCODES, shipped(folder), sources_in(folder, "X86"))


def test_definitions_are_found_however_they_are_broken_into_lines() -> None:
    text = (
        'def : InstRW<[A, // why\n  B], (instregex "X(1|2)", // this\n "Y")>; // end\n'
        "def Z : InstRW<[A],(instrs M, N)>;\n"
    )
    overrides = [
        Override(("A",), "instrs", ("M", "N")),
        Override(("A", "B"), "instregex", ("X(1|2)", "Y")),
        Override(("A",), "instrs", ("elsewhere",)),
    ]
    places = places_of_overrides(text, overrides)
    assert set(places) == {0, 1}
    assert text[slice(*places[0])].startswith("def Z")
    assert text[slice(*places[1])].endswith("// end\n")


@pytest.mark.parametrize(
    ("folder", "cpu", "complaint"),
    [
        (Path("/nonexistent"), CPU, "name LLVM's sources"),
        (LLVM, "znver9", "no processor 'znver9'"),
        (LLVM, "", "no scheduling model for the core"),
    ],
)
def test_what_cannot_be_patched_is_said(folder: Path, cpu: str, complaint: str) -> None:
    shipped()
    core = exported_toy_core()
    core = replace(core, mapping=replace(core.mapping, tools=replace(NO_NAMES, llvm=cpu)))
    with pytest.raises(ExchangeError, match=complaint):
        write_llvm_patch(core, OPCODES, folder)
