"""The recorded example: real, small, what its description says, and loaded once."""

import pytest

from inference.core.experiment import Measured
from inference.core.misfits import DoubtKind
from inference.features.judging.findings.doubts import doubts_of
from inference.features.library.example import loading
from inference.features.library.mappings.query import measured_slots_of
from inference.features.machines.machines.query import condition_of
from inference.formats.experiment_csv import write_experiment_csv
from inference.formats.parsing import AnyNames, parse
from inference.isa import x86
from inference.models import ISA, Evaluation, ExperimentSet, Machine, PortMapping
from inference.storage.instruction_sets import core_of, vocabulary
from inference.storage.mappings import load_mapping
from inference.storage.rows import load_measurements

FILES = (loading.SINGLETONS_AND_PAIRS, loading.MIXES, loading.SLOTS, loading.MAPPING)


@pytest.fixture
def loadable(default_x86: ISA, monkeypatch: pytest.MonkeyPatch) -> ISA:
    """The example loads into this; the whole instruction set takes seconds to store."""
    monkeypatch.setattr(loading, "load_supplied", lambda _name: (default_x86, False))
    return default_x86


def measured(file_index: int) -> list[Measured]:
    file = FILES[file_index]
    return list(parse(file.read_bytes(), file.name, AnyNames()).measured)


def test_the_files_are_small_and_read_without_a_problem(default_x86: ISA) -> None:
    assert {path.name for path in loading.DATA.iterdir()} == {path.name for path in FILES}
    assert sum(path.stat().st_size for path in FILES) < 2_000_000
    for path in FILES:
        parsed = parse(path.read_bytes(), path.name, vocabulary(default_x86))
        assert parsed.lines() == []


def test_measurements_and_mapping_speak_of_the_starter_set() -> None:
    starter = {each.text for each in x86.schemes() if each.starter and not each.exclusion}
    mapping = parse(loading.MAPPING.read_bytes(), "mapping.json", AnyNames()).mapping
    assert mapping is not None
    recorded = set(mapping.usage)
    assert recorded < starter, "recorded before what compilers emit came into the set"
    for index in (0, 1):
        named = {scheme for each in measured(index) for scheme in each.experiment.schemes}
        assert named == recorded


def test_there_are_as_many_experiments_as_the_description_says() -> None:
    training, mixes = measured(0), measured(1)
    assert (len(training), len(mixes)) == (1681, 1000)
    assert {each.experiment.length for each in mixes} == {5}
    alone = [each for each in training if each.experiment.length == 1]
    assert len(alone) == 53
    assert not {each.experiment for each in training} & {each.experiment for each in mixes}


def test_the_bottleneck_that_the_mapping_names_was_measured() -> None:
    rates = [each.experiment.length / each.cycles for each in measured(0) if each.cycles]
    assert 5.9 < max(rates) < 6


def test_loading_twice_makes_everything_once(loadable: ISA) -> None:
    example = loading.load_example()
    PortMapping.objects.filter(pk=example.mapping.pk).update(name="renamed")
    assert loading.load_example() == example
    counted = [model.objects.count() for model in (Machine, ExperimentSet, PortMapping, Evaluation)]
    assert counted == [1, 3, 1, 1]
    assert load_mapping(example.mapping).r_max == 6.0
    assert len(example.mapping.ports) == 13
    text = write_experiment_csv(load_measurements(example.training))
    assert text == loading.SINGLETONS_AND_PAIRS.read_text(encoding="utf-8")


def test_the_mapping_predicts_the_mixes_as_its_description_says(loadable: ISA) -> None:
    example = loading.load_example()
    evaluation = example.mapping.evaluations.get()
    assert (evaluation.experiment_set, evaluation.n) == (example.mixes, 1000)
    assert evaluation.mape == pytest.approx(5.50, abs=0.05)
    assert evaluation.pearson == pytest.approx(0.966, abs=0.002)
    assert evaluation.kendall == pytest.approx(0.820, abs=0.002)


def test_the_machine_is_a_real_one_that_is_not_here(loadable: ISA) -> None:
    example = loading.load_example()
    machine = example.machine
    assert "Zen 4" in machine.name
    known = core_of(machine)
    assert known is not None
    assert known.name == "Zen 4"
    condition = condition_of(machine)
    assert (machine.local, condition.online, condition.able) == (False, False, False)
    assert {example.training.machine, example.mixes.machine, example.mapping.machine} == {machine}
    assert example.training.identity == machine.facts["harness"]
    assert example.training.identity["settings"]["sample_us"] == 20


def test_what_was_deleted_of_the_example_is_loaded_again(loadable: ISA) -> None:
    example = loading.load_example()
    example.mixes.delete()
    again = loading.load_example()
    assert again.training == example.training
    assert again.mixes != example.mixes
    assert again.mapping.evaluations.get().experiment_set == again.mixes


def test_its_slots_were_counted(loadable: ISA) -> None:
    example = loading.load_example()
    found = measured_slots_of(example.mapping)
    assert found is not None
    assert (round(found.width), len(found.readings)) == (6, 53)
    doubted = [each.scheme for each in doubts_of(example.mapping).rows if each.kind is DoubtKind.SLOTS]
    assert doubted == []
