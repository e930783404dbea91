"""`manage.py export`: every kind and format, and what is said where there is none."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Mapping
from inference.formats.exporting import MAPPING_EXPORTS
from inference.formats.provenance import PRODUCT
from inference.models import ExperimentSet, PortMapping
from inference.storage.instruction_sets import X86, new_isa
from inference.storage.rows import load_mapping, load_measurements, store_mapping, store_measurements

ADD, IMUL = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R"


def export(*arguments: object) -> str:
    out = StringIO()
    call_command("export", *(str(argument) for argument in arguments), stdout=out)
    return out.getvalue()


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
            "a mapping cannot be exported as 'xls'; known are json, pmevo",
        ),
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
