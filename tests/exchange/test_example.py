"""The recorded example: reproducible, small, and loaded once."""

import pytest

from inference.core.evaluator import Evaluator
from inference.core.tables import ExperimentTable
from inference.exchange.example import loading, recipe
from inference.exchange.experiment_csv import write_experiment_csv
from inference.exchange.parsing import AnyNames, parse
from inference.exchange.stored import load_mapping, load_measurements
from inference.isa import x86
from inference.models import ISA, Evaluation, ExperimentSet, Machine, PortMapping


def test_the_files_are_what_the_recipe_makes() -> None:
    for path, text in recipe.files().items():
        assert path.read_text(encoding="utf-8") == text
        assert path.stat().st_size < 500_000


def test_the_processor_has_the_starter_schemes_and_ports_that_all_are_used() -> None:
    starter = {each.text for each in x86.schemes() if each.starter and not each.exclusion}
    assert set(recipe.USAGE) == starter
    used = {mask for uops in recipe.true_mapping().usage.values() for mask, _ in uops}
    assert set("".join(port for ports in recipe.USAGE.values() for port in ports)) == set(recipe.PORTS)
    assert len(used) >= 8


def test_the_measurements_scatter_around_the_truth_by_one_per_cent() -> None:
    measured = parse(recipe.MIXES.read_bytes(), "mixes.csv", AnyNames()).measured
    table = ExperimentTable.from_experiments(result.experiment for result in measured)
    exact = Evaluator(table, len(recipe.PORTS)).cycles_one(recipe.true_mapping())
    errors = [result.cycles / cycles - 1 for result, cycles in zip(measured, exact, strict=True)]
    assert sum(error**2 for error in errors) / len(errors) == pytest.approx(recipe.NOISE**2, rel=0.2)
    assert {result.experiment.length for result in measured} == {5}


def test_loading_twice_makes_everything_once(default_x86: ISA, monkeypatch: pytest.MonkeyPatch) -> None:
    # The whole instruction set takes seconds to store, and the example needs a part of it.
    monkeypatch.setattr(loading, "load_x86", lambda: (default_x86, False))
    example = loading.load_example()
    PortMapping.objects.filter(pk=example.mapping.pk).update(name="renamed")
    assert loading.load_example() == example
    assert [model.objects.count() for model in (Machine, ExperimentSet, PortMapping, Evaluation)] == [
        1,
        2,
        1,
        1,
    ]
    assert example.machine.kind == Machine.Kind.SIMULATED
    assert example.machine.facts["noise"] == recipe.NOISE
    assert load_mapping(example.mapping) == recipe.true_mapping()
    assert "simulated" in example.training.name
    text = write_experiment_csv(load_measurements(example.training))
    assert text == recipe.SINGLETONS_AND_PAIRS.read_text(encoding="utf-8")
    evaluation = example.mapping.evaluations.get()
    assert (evaluation.experiment_set, evaluation.n) == (example.mixes, recipe.MIX_COUNT)
    assert 0.5 < evaluation.mape < 1.2


def test_what_was_deleted_of_the_example_is_loaded_again(
    default_x86: ISA, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "load_x86", lambda: (default_x86, False))
    example = loading.load_example()
    example.mixes.delete()
    again = loading.load_example()
    assert again.training == example.training
    assert again.mixes != example.mixes
    assert again.mapping.evaluations.get().experiment_set == again.mixes
