"""Import and evaluation runs."""

from __future__ import annotations

import hashlib

import pytest

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Mapping
from inference.core.pacing import SilentReporter
from inference.features.judging.evaluations.job import EvaluateJob
from inference.models import Comparison, Evaluation, ExperimentSet, PortMapping, Upload
from inference.runs import leases, lifecycle
from inference.runs.errors import ConfigError
from inference.runs.kinds import Task
from inference.storage.errors import UnknownNameError
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import convert, store_mapping
from inference.storage.rows import store_measurements
from tests.runs.fixtures import payloads
from tests.work import work_off

pytestmark = pytest.mark.django_db

CSV = b'experiment,cycles\n"a",1.0\n"2*a; b",2.5\n'


@pytest.fixture
def isa():
    return new_isa("toy", ["a", "b"], "a test")


def upload(content):
    digest = hashlib.sha256(content).hexdigest()
    return Upload.objects.create(file_name="mine.csv", beginning=content, sha256=digest)


def do(kind, config):
    run = lifecycle.submit(kind, config, lifecycle.unused_name("a run"))
    return work_off(run)


def test_an_upload_becomes_a_set_and_is_gone(isa):
    run = do("import", {"upload": upload(CSV).pk, "name": "mine", "isa": "toy", "note": "n"})
    assert run.state == "done", run.error
    made = ExperimentSet.objects.get()
    assert (made.name, made.note, made.run, made.measurements.count()) == ("mine", "n", run, 2)
    assert run.result == {"experiment_set": made.pk, "name": "mine", "rows": 2}
    assert payloads(run, "result") == [run.result]
    assert not Upload.objects.exists()


def test_a_faulty_upload_stays_and_its_run_says_what_is_wrong(isa):
    kept = upload(CSV + b'"a",fast\n')
    run = do("import", {"upload": kept.pk, "isa": "toy"})
    assert run.state == "failed"
    assert "row 4" in run.error or ":4" in run.error
    assert "fast" in run.error
    kept.refresh_from_db()
    assert kept.run == run
    assert not ExperimentSet.objects.exists()


EXPLAINED = b"""{"peakipc": 5, "ports": [0, 1], "data": {
    "a": {"portusage": [[[0, 1], 1]], "itp": 0.5, "numuops": 1}, "b": {"portusage": [], "itp": 3.0}}}"""


def test_explained_results_are_imported_with_what_their_runs_rejected_and_measured(isa, measured):
    rejects = [upload(b'[["b", "surplus uops do not add up"]]'), upload(b'[["b", "never heard of"]]')]
    config = {"upload": upload(EXPLAINED).pk, "isa": "toy", "name": "zen"}
    config |= {"rejects": [each.pk for each in rejects], "evidence": [measured.name]}
    run = do("import", config)
    assert run.state == "done", run.error
    made = PortMapping.objects.get()
    excluded = made.characterisations.get(outcome="excluded")
    assert (excluded.scheme.text, excluded.reason) == ("b", "fewer µops than found on subsets")
    assert made.report["measured_in"] == [measured.pk]
    assert not Upload.objects.exists()


SEVERAL = b"""{"a": [{"measurements": {"SKL": "1*p0", "ICL": "1*p01", "ZEN+": "1*FP0"}}],
    "b": [{"measurements": {"SKL": "1*p1"}}]}"""


def test_one_file_brings_several_microarchitectures_or_none(isa):
    config = {"upload": upload(SEVERAL).pk, "isa": "toy", "name": "mine", "microarchitecture": "SKL"}
    run = do("import", config | {"others": ["ICL", "ZEN+"]})
    assert run.state == "done", run.error
    names = ["mine", "uops.info, Ice Lake", "uops.info, Zen+"]
    assert sorted(PortMapping.objects.values_list("name", flat=True)) == names
    assert run.result["name"] == "mine"
    assert "uops.info, Zen+: 1 rows" in [each["text"] for each in payloads(run, "log")]
    run = do("import", config | {"upload": upload(SEVERAL).pk, "name": "next", "others": ["P4"]})
    assert run.state == "failed"
    assert "there is no microarchitecture 'P4'" in run.error
    assert PortMapping.objects.count() == 3
    founding = {"upload": upload(SEVERAL).pk, "new_isa": "other", "others": ["ICL"]}
    with pytest.raises(ConfigError, match="import the first one alone"):
        lifecycle.submit("import", founding, "a run")


def test_what_comes_beside_a_file_must_be_there_and_fit(isa, measured):
    content = upload(EXPLAINED).pk
    with pytest.raises(ConfigError, match="rejects: there is no uploaded file with the id 99"):
        lifecycle.submit("import", {"upload": content, "rejects": [99]}, "a run")
    with pytest.raises(UnknownNameError, match="nowhere"):
        lifecycle.submit("import", {"upload": content, "evidence": ["nowhere"]}, "a run")
    run = do("import", {"upload": upload(CSV).pk, "isa": "toy", "evidence": [measured.name]})
    assert run.state == "failed"
    assert "has no verdicts on schemes" in run.error


def test_a_name_taken_meanwhile_imports_nothing(isa):
    kept = upload(CSV)
    run = lifecycle.submit("import", {"upload": kept.pk, "name": "mine", "isa": "toy"}, "late")
    ExperimentSet.objects.create(name="mine", isa=isa, origin="upload")
    work_off(run)
    assert run.state == "failed"
    assert "'mine'" in run.error
    assert Upload.objects.filter(pk=kept.pk).exists()


def test_an_upload_is_imported_by_one_run_at_a_time(isa):
    kept = upload(CSV)
    lifecycle.submit("import", {"upload": kept.pk}, "first")
    with pytest.raises(ConfigError, match="imported already, by the run 'first'"):
        lifecycle.submit("import", {"upload": kept.pk}, "second")


@pytest.mark.parametrize(
    ("config", "error", "complaint"),
    [
        ({"upload": 999}, ConfigError, "no uploaded file with the id 999"),
        ({"unit": "miles"}, ConfigError, "unit must be one of"),
        ({"isa": "toi"}, UnknownNameError, "did you mean 'toy'"),
        ({"isa": "toy", "new_isa": "x"}, ConfigError, "exclude each other"),
        ({"file": 1}, ConfigError, "no field 'file'"),
    ],
)
def test_a_wrong_import_is_refused(isa, config, error, complaint):
    kept = upload(CSV)
    with pytest.raises(error, match=complaint):
        lifecycle.submit("import", {"upload": kept.pk, **config}, "wrong")


@pytest.fixture
def mapping(isa):
    return store_mapping("m", isa, Mapping(("0",), {"a": ((1, 1),), "b": ((1, 2),)}), origin="import")


@pytest.fixture
def measured(isa):
    row = ExperimentSet.objects.create(name="s", isa=isa, origin="upload")
    experiments = [Experiment.of(["a"]), Experiment.of(["a", "b"])]
    store_measurements(row, [Measured(experiments[0], 1.0), Measured(experiments[1], 4.0)])
    return row


def test_an_evaluation_is_stored_and_repeated_in_place(mapping, measured):
    config = {"mapping": mapping.pk, "experiment_set": measured.pk, "unit": "cycles"}
    runs = [do("evaluate", config) for _ in range(2)]
    for run in runs:
        assert run.state == "done", run.error
    evaluation = Evaluation.objects.get()
    assert evaluation.mape == pytest.approx(12.5)
    assert run.result["scores"]["mape"] == evaluation.mape
    assert run.result["evaluation"] == evaluation.pk
    assert {comparison.run for comparison in Comparison.objects.all()} == set(runs)


def test_a_resource_mapping_is_evaluated_like_a_port_mapping(mapping, measured):
    converted = convert(mapping, "converted")
    run = do("evaluate", {"resource_mapping": converted.pk, "experiment_set": measured.pk})
    assert run.state == "done", run.error
    evaluation = Evaluation.objects.get()
    assert (evaluation.resource_mapping, evaluation.mapping) == (converted, None)
    assert (evaluation.mape, run.result["resource_mapping"]) == (pytest.approx(12.5), converted.pk)


def test_predicting_is_over_before_the_transaction_that_ends_the_run(mapping, measured):
    config = {"mapping": mapping.pk, "experiment_set": measured.pk, "unit": "cycles"}
    run = lifecycle.submit("evaluate", config, "a run")
    store = EvaluateJob().work(Task(run, leases.claim("w"), reporter=SilentReporter(), checkpoint=None))
    measured.measurements.all().delete()
    result, _ = store()
    assert result["scores"]["n"] == 2


def test_an_evaluation_whose_set_is_deleted_meanwhile_fails_with_the_reason(mapping, measured):
    config = {"mapping": mapping.pk, "experiment_set": measured.pk, "unit": "cycles"}
    run = lifecycle.submit("evaluate", config, "late")
    measured.delete()
    work_off(run)
    assert run.state == "failed"
    assert run.error == "the mapping or the experiment set to evaluate has been deleted"


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"mapping": 999}, "no port mapping with the id 999"),
        ({"mapping": None, "resource_mapping": 999}, "no resource mapping with the id 999"),
        ({"resource_mapping": 1}, "of one predictor"),
        ({"experiment_set": 999}, "no experiment set with the id 999"),
        ({"experiment_set": "s"}, "experiment_set must be a whole number"),
        ({"unit": "miles"}, "unit must be one of"),
        ({"set": 1}, "no field 'set'"),
    ],
)
def test_a_wrong_evaluation_is_refused(mapping, measured, config, complaint):
    with pytest.raises(ConfigError, match=complaint):
        lifecycle.submit(
            "evaluate", {"mapping": mapping.pk, "experiment_set": measured.pk, **config}, "wrong"
        )
