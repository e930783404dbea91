"""The zip of a run: written here, read elsewhere, and it is the same run with all that belongs to it."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from inference.core.experiment import Experiment, Measured, MeasurementState, Unit
from inference.core.mapping import PortMapping as Mapping
from inference.features.running.runs.archive import store_archive
from inference.formats import run_archive_reading
from inference.formats.problems import ExchangeError
from inference.formats.run_archive_reading import is_archive, read_archive
from inference.models import (
    ISA,
    Characterisation,
    Evaluation,
    ExperimentSet,
    FrontPoint,
    Machine,
    PortMapping,
    Run,
    Upload,
)
from inference.models import Experiment as ExperimentRow
from inference.models import Witness as WitnessRow
from inference.runs import leases
from inference.runs.journal import append
from inference.runs.lifecycle import submit
from inference.storage.evaluations import evaluate
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import load_mapping, store_mapping
from inference.storage.rows import load_measurements, store_measurements
from inference.storage.run_archive_writing import write_archive
from tests import explained
from tests.drawn import examples
from tests.fronts import fronted
from tests.work import work_off
from tests.zips import packed, unpacked

__all__ = ["fronted"]
pytestmark = pytest.mark.django_db

TRUTH = Mapping(("0", "1"), {"a": ((1, 1),), "b": ((3, 1),)})
ROWS = [
    Measured(Experiment.of(["a"]), 1.0, passes=11, spread=0.01, counters={"uops": 1.0}),
    Measured(Experiment.of({"a": 1, "b": 1}), 1.25, annotations={"llvm-mca": 1.0}, note="odd"),
    Measured(Experiment.of(["b"]), 0.7, MeasurementState.UNSETTLED),
    Measured(Experiment.of({"b": 2}), None, MeasurementState.FAILED, note="illegal instruction"),
    Measured(Experiment.of(["a"]), 1.01),
]


@pytest.fixture
def isa() -> ISA:
    return new_isa("toy", TRUTH.usage, "a test")


@pytest.fixture
def measured(isa: ISA) -> Run:
    """A run that has measured something on a machine, was cancelled, and has kept its results."""
    machine = Machine.objects.create(
        name="lab", kind="agent", isa=isa, cpu="AMD EPYC", facts={"family": 25, "host": "secret-name"}
    )
    ids = list(isa.schemes.order_by("id").values_list("pk", flat=True))
    run = submit("measure", {"machine": machine.pk, "schemes": ids, "scheme_filter": "a b"}, "measured")
    lease = leases.claim("w", only=run.pk)
    append(lease, [("log", {"level": "info", "text": "µ-ops, “measured”"})])
    row = ExperimentSet.objects.create(
        name="kept",
        isa=isa,
        machine=machine,
        run=run,
        origin="run",
        identity={"kind": "agent", "unroll": 100},
    )
    store_measurements(row, ROWS)
    leases.settle(lease, Run.State.CANCELLED)
    run.refresh_from_db()
    return run


@pytest.fixture
def inferred(isa: ISA, fronted: None) -> Run:
    """A run that has found a mapping, with its front, judged on what it held out."""
    row = ExperimentSet.objects.create(name="pairs", isa=isa, origin="upload", source="pairs.csv")
    store_measurements(
        row, [*ROWS, *(Measured(Experiment.of({"a": n, "b": n}), 1.0 * n) for n in range(2, 9))]
    )
    config = {"source": {"datasets": [row.pk]}, "ports": 2, "settings": {"search": "evolution"}}
    run = submit("infer", config, "inferred")
    work_off(run)
    assert run.state == "done", run.error
    return run


def elsewhere(content: bytes) -> Run:
    """Imported by a site that has nothing of it."""
    Evaluation.objects.all().delete()
    PortMapping.objects.all().delete()
    ExperimentSet.objects.all().delete()
    Run.objects.all().delete()
    Machine.objects.all().delete()
    ExperimentRow.objects.all().delete()
    ISA.objects.all().delete()
    return store_archive(read_archive(content), "run.zip")


def told(run: Run) -> list[tuple[Any, ...]]:
    """The journal without the numbers of rows."""
    found = []
    for event in run.events.order_by("seq"):
        numbers = ("mapping", "experiment_set", "url", "evaluation")
        payload = {k: v for k, v in event.payload.items() if event.kind != "result" or k not in numbers}
        found.append((event.seq, event.kind, payload, event.at))
    return found


def test_an_inference_comes_back_with_its_mapping_front_scores_and_data(inferred: Run) -> None:
    mapping = PortMapping.objects.get(run=inferred)
    before = {
        "value": load_mapping(mapping),
        "rows": load_measurements(ExperimentSet.objects.get()),
        "scores": list(Evaluation.objects.values_list("unit", "n", "mape", "pearson", "kendall")),
        "front": list(
            FrontPoint.objects.order_by("place").values_list("place", "error", "volume", "kinds", "mape")
        ),
        "told": told(inferred),
        "settings": inferred.config["settings"],
    }
    made = elsewhere(write_archive(inferred))
    found = PortMapping.objects.get(run=made)
    (made_set,) = ExperimentSet.objects.all()
    assert load_mapping(found) == before["value"]
    assert load_measurements(made_set) == before["rows"]
    evaluation = Evaluation.objects.get()
    assert (evaluation.held_out_by, evaluation.mapping) == (made, found)
    assert list(Evaluation.objects.values_list("unit", "n", "mape", "pearson", "kendall")) == before["scores"]
    points = FrontPoint.objects.order_by("place").values_list("place", "error", "volume", "kinds", "mape")
    assert list(points) == before["front"]
    assert FrontPoint.objects.filter(picked=found).count() == 1
    assert told(made) == before["told"]
    assert (made.name, made.state, made.config["settings"]) == ("inferred", "done", before["settings"])
    assert made.config["source"] == {"datasets": [made_set.pk]}
    assert made.result["mapping"] == found.pk
    assert "numpy" in made.note, "which software did it"
    assert (found.origin, made_set.origin) == ("run", "upload")


def test_measurements_come_back_with_their_states_and_what_they_were_measured_with(measured: Run) -> None:
    created, events = measured.created, told(measured)
    content = write_archive(measured)
    assert b"secret-name" not in b"".join(unpacked(content).values())
    made = elsewhere(content)
    (row,) = made.experiment_sets.all()
    assert load_measurements(row) == ROWS
    assert (row.identity, row.name, row.origin) == ({"kind": "agent", "unroll": 100}, "kept", "run")
    machine = Machine.objects.get()
    assert (machine.kind, machine.name, machine.cpu) == ("published", "lab", "AMD EPYC")
    assert (row.machine, made.config["machine"]) == (machine, machine.pk)
    assert made.config["schemes"] == list(row.isa.schemes.order_by("id").values_list("pk", flat=True))
    assert (made.state, made.created, told(made)) == ("cancelled", created, events)


def test_what_explainable_inference_concluded_comes_back(isa: ISA, measured: Run) -> None:
    ISA.objects.filter(pk=isa.pk).update(name="another toy")
    mapping = explained.explained_mapping(explained.toy_isa())
    PortMapping.objects.filter(pk=mapping.pk).update(run=measured)
    verdicts = [each for each in Characterisation.objects.order_by("id").values() if each.pop("id")]
    witnesses = WitnessRow.objects.order_by("id").values_list(
        "blocker__text", "mask", "copies", "cycles", "seen"
    )
    before = list(witnesses.all())
    assert before
    made = elsewhere(write_archive(measured))
    after = [each for each in Characterisation.objects.order_by("id").values() if each.pop("id")]
    for each in (*verdicts, *after):
        del each["mapping_id"], each["scheme_id"]
    assert after == verdicts
    assert list(witnesses.all()) == before
    assert PortMapping.objects.get(run=made).report["explain"] == mapping.report["explain"]


def test_the_same_rows_make_the_same_bytes(inferred: Run) -> None:
    assert write_archive(inferred) == write_archive(inferred)


def test_a_run_is_imported_beside_what_is_there_under_other_names(measured: Run) -> None:
    content = write_archive(measured)
    made = store_archive(read_archive(content), "run.zip")
    again = store_archive(read_archive(content), "run.zip")
    assert [made.name, again.name] == ["measured (2)", "measured (3)"]
    assert ExperimentSet.objects.count() == 3
    told_of = Machine.objects.filter(kind="published")
    assert [each.name for each in told_of] == ["lab (2)"], "one machine for both"


def test_a_mapping_that_was_simulated_or_judged_comes_along(isa: ISA) -> None:
    truth = store_mapping("truth", isa, TRUTH, origin=PortMapping.Origin.IMPORT)
    judge = ExperimentSet.objects.create(name="judge", isa=isa, origin="upload")
    store_measurements(judge, ROWS)
    run = submit("evaluate", {"mapping": truth.pk, "experiment_set": judge.pk}, "judged")
    evaluate(truth, judge, Unit.CYCLES)
    Run.objects.filter(pk=run.pk).update(state="done", result={"mapping": truth.pk, "evaluation": 5})
    run.refresh_from_db()
    made = elsewhere(write_archive(run))
    found, made_set = PortMapping.objects.get(), ExperimentSet.objects.get()
    assert made.config == {"mapping": found.pk, "experiment_set": made_set.pk, "unit": "cycles"}
    assert made.result == {"mapping": found.pk}
    assert (found.origin, found.run, found.evaluations.get().experiment_set) == ("import", None, made_set)


def test_a_run_that_goes_on_has_no_zip_yet(isa: ISA, measured: Run) -> None:
    Run.objects.update(state="paused")
    measured.refresh_from_db()
    with pytest.raises(ExchangeError, match="has not ended"):
        write_archive(measured)


# ---- commands and uploads


def test_commands_write_and_read_it(measured: Run, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "measured.zip"
    call_command("export", "run", "measured", output=path)
    call_command("import", str(path), name="from afar", note="a colleague's")
    assert "run 'from afar'" in capsys.readouterr().out
    made = Run.objects.get(name="from afar")
    assert made.note.startswith("a colleague's")
    assert load_measurements(made.experiment_sets.get()) == ROWS
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(CommandError):
        call_command("import", str(path))


def test_an_upload_is_imported_by_a_run(measured: Run) -> None:
    content = write_archive(measured)
    upload = Upload.objects.create(file_name="measured.zip", beginning=content, sha256="0" * 64)
    run = submit("import", {"upload": upload.pk}, "import it")
    work_off(run)
    assert run.state == "done", run.error
    made = Run.objects.get(pk=run.result["imported_run"])
    assert (made.name, made.kind) == ("measured (2)", "measure")
    assert not Upload.objects.exists()


# ---- what comes from elsewhere may be anything


def changed(content: bytes, **changes: Any) -> bytes:
    """With other fields in the manifest, those of the run under `run`."""
    files = unpacked(content)
    manifest = json.loads(files["run.json"])
    manifest["run"] |= changes.pop("run", {})
    files["run.json"] = json.dumps(manifest | changes).encode()
    return packed(files)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": 2}, "run.json, version"),
        ({"surprise": 1}, "run.json, surprise"),
        ({"run": {"state": "running"}}, "run.json, run.state"),
        ({"run": {"kind": "dance"}}, "kind 'dance'"),
        ({"run": {"config": {"machine": 1}}}, "run.config"),
        ({"run": {"name": "a\0b"}}, "NUL"),
        ({"run": {"name": ""}}, "run.name"),
        ({"run": {"busy_seconds": -1}}, "run.busy_seconds"),
        ({"run": {"result": {"imported_run": [1]}}}, "run.result"),
        ({"run": {"result": {"mapping": 1.5}}}, "run.result"),
        ({"run": {"result": {"characterised": "all"}}}, "run.result"),
        ({"run": {"result": {"held_out": {"mape": "<b>"}}}}, "run.result"),
        ({"run": {"kind": "evaluate", "config": {"unit": "cycles"}}}, "run.config, experiment_set"),
        ({"run": {"kind": "evaluate", "config": {"experiment_set": 1, "unit": []}}}, "run.config, unit"),
        ({"machines": {}}, "machine"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(measured: Run, changes: dict[str, Any], said: str) -> None:
    content = changed(write_archive(measured), **changes)
    runs, sets = Run.objects.count(), ExperimentSet.objects.count()
    with pytest.raises(ExchangeError, match=said):
        store_archive(read_archive(content), "run.zip")
    assert (Run.objects.count(), ExperimentSet.objects.count()) == (runs, sets)


def test_damaged_files_inside_are_refused_with_their_lines(measured: Run) -> None:
    files = unpacked(write_archive(measured))
    rows = next(name for name in files if name.endswith(".jsonl") and name.startswith("sets/"))
    bad = {
        rows: b'{"terms": {"a": 1}, "cycles": -1}',
        "events.jsonl": b'{"seq": 2, "kind": "log", "payload": {}, "at": "2026-01-01T00:00:00Z"}\n' * 2,
    }
    for name, content in bad.items():
        with pytest.raises(ExchangeError, match=name.partition(".")[0]):
            read_archive(packed({**files, name: content}))
        with pytest.raises(ExchangeError, match="has no "):
            read_archive(packed({other: each for other, each in files.items() if other != name}))


def test_a_zip_that_grows_without_end_is_refused(measured: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    content = write_archive(measured)
    monkeypatch.setattr(run_archive_reading, "UNPACKED_LIMIT", 1000)
    with pytest.raises(ExchangeError, match="unpacks to more"):
        read_archive(content)


def test_other_files_are_not_taken_for_one(measured: Run) -> None:
    assert is_archive(write_archive(measured))
    for other in (b"", b"PK\x03\x04", b"experiment,cycles\n", packed({"campaign.json": b"{}"})):
        assert not is_archive(other)


@examples(25, suppress=(HealthCheck.function_scoped_fixture,))
@given(data=st.data())
def test_no_damage_is_a_fault(data: st.DataObject, measured: Run) -> None:
    files = unpacked(write_archive(measured))
    name = data.draw(st.sampled_from(sorted(files)))
    content = bytearray(files[name])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.sampled_from(b'0"{}[],-:na'))
    with contextlib.suppress(ExchangeError):
        read_archive(packed({**files, name: bytes(content)}))
