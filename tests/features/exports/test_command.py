"""`manage.py export`: every kind and format, and what is said where there is none."""

from __future__ import annotations

import re
import shutil
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from inference.core.core_model import CoreModel
from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Mapping
from inference.formats.core_model_json import core_model_json
from inference.formats.provenance import PRODUCT
from inference.isa import llvm_mc
from inference.isa.domains import unit_class
from inference.isa.targets import X86
from inference.models import ExperimentSet, PortMapping, StoredCoreModel
from inference.storage.exporting import CORE_MODEL_EXPORTS, LLVM_SOURCES, MAPPING_EXPORTS
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import load_mapping, store_mapping
from inference.storage.rows import load_measurements, store_measurements
from tests.doors import printed

ADD, IMUL = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R"


def export(*arguments: object) -> str:
    return printed("export", *(str(argument) for argument in arguments))


@pytest.fixture
def mapping(db: None) -> PortMapping:
    isa = new_isa(X86, [ADD, IMUL], "by hand")
    value = Mapping(ports=("0", "1"), usage={ADD: ((3, 1),), IMUL: ((2, 1),)})
    return store_mapping("two", isa, value, origin=PortMapping.Origin.IMPORT)


@pytest.mark.parametrize("wanted", MAPPING_EXPORTS)
def test_a_mapping_in_every_format_says_who_made_it(mapping: PortMapping, wanted: str) -> None:
    text = export("mapping", "two", "--format", wanted)
    assert PRODUCT in text
    assert ADD in text
    assert text.endswith("\n")


@pytest.mark.parametrize("wanted", ["json", "pmevo", "uops-info"])
def test_what_imports_again_imports_as_the_same(mapping: PortMapping, tmp_path: Path, wanted: str) -> None:
    path = tmp_path / f"two.{MAPPING_EXPORTS[wanted].extension}"
    export("mapping", "two", "--format", wanted, "--output", path)
    call_command("import", str(path), "--name", "again", stdout=StringIO())
    again = load_mapping(PortMapping.objects.get(name="again"))
    assert (again.ports, again.usage) == (load_mapping(mapping).ports, load_mapping(mapping).usage)


@pytest.fixture
def core_model(mapping: PortMapping) -> StoredCoreModel:
    """A core model with the mapping, and latencies as a document has them."""
    model = CoreModel(load_mapping(mapping), {IMUL: {("1", "1"): 3.0, ("2", "1"): 3.0}})
    return StoredCoreModel.objects.create(
        name="core", isa=mapping.isa, document=core_model_json(model, name="core", isa=X86)
    )


BY_KIND = ("diagram-svg", "kinds-csv")
"""Formats that tell of kinds of instructions rather than of schemes."""
PATCH = "llvm-patch"


@pytest.mark.parametrize("wanted", BY_KIND)
def test_the_core_of_a_model_by_kinds_of_instructions(core_model: StoredCoreModel, wanted: str) -> None:
    core_model.isa.schemes.filter(text=IMUL).update(mnemonic="imul", category="multiply")
    assert unit_class(IMUL, "imul", "multiply", "") in export("model", "core", "--format", wanted)


@pytest.mark.parametrize("wanted", [name for name in CORE_MODEL_EXPORTS if name not in {*BY_KIND, PATCH}])
def test_a_core_model_in_every_format(core_model: StoredCoreModel, wanted: str) -> None:
    if wanted.startswith("exegesis") and llvm_mc.program() is None:
        pytest.skip("llvm-mc is not installed: the benchmarks have no names")
    text = export("model", "core", "--format", wanted)
    assert IMUL in text
    assert "core" in text
    latency = r'"cycles": 3\.0|latency: 3\.0|cycles="3"|Latency = 3;|key: latency, value: 3,'
    assert re.search(latency, text) or wanted in {"exegesis-throughput", "exegesis-uops"}


def test_a_core_model_becomes_a_patch_of_llvm(
    core_model: StoredCoreModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    if llvm_mc.program() is None or shutil.which("llvm-tblgen") is None:
        pytest.skip("LLVM's tools are not installed")
    folder = Path(__file__).parents[2] / "formats" / "mini_llvm"
    asked = ("model", "core", "--format", PATCH, "--against", folder)
    text = export(*asked, "--cpu", "znver3")
    assert export("model", "core", "--format", "llvm", "--against", folder, "--cpu", "znver3") == text
    assert "+++ b/lib/Target/X86/X86ScheduleToy.td" in text
    assert "+  IMUL64rr // latency 5 → 3 (3)" in text
    monkeypatch.setenv(LLVM_SOURCES, str(folder))
    assert export("model", "core", "--format", PATCH, "--cpu", "znver3") == text
    with pytest.raises(CommandError, match="needs a core that LLVM's -mcpu has a name for"):
        export(*asked)
    with pytest.raises(CommandError, match="no processor 'znver9'"):
        export(*asked, "--cpu", "znver9")


def test_a_set_comes_back_below_its_comments(mapping: PortMapping, tmp_path: Path) -> None:
    row = ExperimentSet.objects.create(name="s", isa=mapping.isa, origin=ExperimentSet.Origin.UPLOAD)
    measured = [Measured(Experiment.of({ADD: 2}), 1.5, note="=1+1"), Measured(Experiment.of({IMUL: 1}), 1.0)]
    store_measurements(row, measured)
    path = tmp_path / "s.csv"
    export("set", "s", "--output", path)
    assert path.read_text(encoding="utf-8").startswith(f"# made by: {PRODUCT}\n# experiment set: s\n")
    call_command("import", str(path), "--name", "again", stdout=StringIO())
    again = load_measurements(ExperimentSet.objects.get(name="again"))
    assert [(each.experiment, each.cycles, each.note) for each in again] == [
        (each.experiment, each.cycles, each.note) for each in measured
    ]


def test_an_experiment_becomes_a_snippet(mapping: PortMapping) -> None:
    text = export("experiment", f"2*{ADD}; {IMUL}")
    assert f"# experiment: 2*{ADD}; {IMUL}\n" in text
    assert "# predicted: 1.5 cycles by “two”" in text
    assert text.count("imul") > 10


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("mapping", "two", "--format", "xls"),
            "a mapping cannot be exported as 'xls'; formats: json, pmevo",
        ),
        (("mapping", "two", "--against", "/tmp"), "--against applies only to core models"),
        (("mapping", "two", "--cpu", "znver3"), "--cpu applies only to export model NAME"),
        (("experiment", "x", "--format", "json"), "an experiment cannot be exported as 'json'"),
        (("mapping", "tow"), "did you mean 'two'"),
        (("experiment", "ad GPR[64]:RW, GPR[64]:R"), f"did you mean {ADD!r}"),
        (("experiment", ADD, "--isa", "ARM"), "there is no ISA named 'ARM'"),
    ],
)
def test_what_cannot_be_exported_is_told_with_what_could(
    mapping: PortMapping, arguments: tuple[str, ...], told: str
) -> None:
    with pytest.raises(CommandError) as refusal:
        export(*arguments)
    assert told in str(refusal.value)
