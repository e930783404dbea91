"""`manage.py infer`: options in, one line of JSON out, exit codes, and what stopping it does."""

from __future__ import annotations

import io
import json
import signal
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping as Mapping
from inference.core.mapping import uops_of
from inference.core.sampling import random_mixes
from inference.formats.mapping_json import write_mapping_json
from inference.measuring.simulated import SimulatedProcessor
from inference.models import ExperimentSet, Machine, PortMapping, Run
from inference.runs import lifecycle
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import load_mapping, store_mapping
from inference.storage.rows import store_measurements
from tests.doors import printed
from tests.runs.fixtures import payloads, state, wait_for

WIDE = Mapping(
    tuple("012345"), {f"s{k}": uops_of([(1 + k * 5 % 63, 1), (1 + k * 11 % 63, 1)]) for k in range(12)}
)
TRUTH = Mapping(("0", "1"), {"a": ((1, 1),), "b": ((3, 1),), "c": ((2, 2),)})
QUICK = [
    "--ports",
    "2",
    "--set",
    "search=evolution",
    "--set",
    "population=30",
    "--set",
    "max_generations=3",
    "--set",
    "threads=1",
]


def infer(*options):
    return printed("infer", "--algorithm", "pmevo", *QUICK, *options)


def make_data():
    isa = new_isa("toy", TRUTH.usage, "a test")
    store_mapping("truth", isa, TRUTH, origin=PortMapping.Origin.IMPORT)
    row = ExperimentSet.objects.create(name="recorded", isa=isa, origin="upload")
    experiments = [Experiment.of([scheme]) for scheme in TRUTH.usage] + random_mixes(
        sorted(TRUTH.usage), 17, 1
    )
    store_measurements(row, SimulatedProcessor(TRUTH).measure(experiments))
    return isa


def test_the_last_line_is_the_json_that_scripts_rely_on(site):
    make_data()
    answer = json.loads(infer("--dataset", "recorded", "--name", "mine", "--json").splitlines()[-1])
    always = {"mapping", "url", "schemes", "experiments", "seconds", "held_out"}
    always |= {"kinds", "limits", "assumptions", "excess"}
    assert set(answer) == always | {"classes", "exhaustive", "front"}
    made = PortMapping.objects.get(name="mine")
    assert (answer["kinds"], answer["assumptions"]) == (
        load_mapping(made).uop_kinds,
        made.report["assumptions"],
    )
    assert answer["excess"] == made.report["excess"]
    assert set(answer["held_out"]) == {"n", "mape", "pearson", "kendall"}
    made = PortMapping.objects.get(name="mine")
    assert answer["mapping"] == "mine"
    assert answer["url"] == f"/mappings/{made.pk}/"
    assert (answer["schemes"], answer["experiments"], answer["held_out"]["n"]) == (3, 16, 4)
    assert answer["seconds"] > 0


def test_a_mapping_file_can_be_simulated(site, tmp_path):
    make_data()
    file = tmp_path / "processor.json"
    file.write_text(json.dumps(write_mapping_json(TRUTH, name="from a file", isa="toy")))
    text = infer("--simulate", str(file), "--set", "noise=0.01", "--schemes", "a")
    assert "port mapping 'from a file · simulated · a · PMEvo': 1 schemes" in text
    assert Run.objects.get().config["source"]["noise"] == 0.01
    assert PortMapping.objects.filter(name="from a file", origin="import").exists()


def test_ctrl_c_cancels_the_run(site):
    run, command = start_long_run(site)
    command.send_signal(signal.SIGINT)
    assert command.wait(60) == 1
    assert state(run) == "cancelled"
    assert not PortMapping.objects.filter(run=run).exists()


def test_a_site_takes_over_when_the_shell_is_killed(site):
    run, command = start_long_run(site)
    command.kill()
    command.wait()
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    before = [p["generation"] for p in payloads(run, "generation")]
    site.worker()
    wait_for(lambda: len(payloads(run, "generation")) > len(before))
    lifecycle.cancel(run)
    wait_for(lambda: state(run) == "cancelled")
    told = [p["generation"] for p in payloads(run, "generation")]
    assert told == list(range(len(told)))
    assert any("stopped answering" in p["text"] for p in payloads(run, "log"))


def start_long_run(site):
    """An evolution that noise keeps from converging for as long as a test lasts."""
    isa = new_isa("wide", WIDE.usage, "a test")
    store_mapping("wide", isa, WIDE, origin=PortMapping.Origin.IMPORT)
    options = [
        "--ports",
        "6",
        "--set",
        "noise=0.2",
        "--set",
        "search=evolution",
        "--set",
        "population=3000",
        "--set",
        "max_generations=100000",
    ]
    command = site.manage("infer", "--algorithm", "pmevo", "--simulate", "wide", *options)
    wait_for(lambda: Run.objects.exists() and len(payloads(Run.objects.get(), "generation")) > 2)
    run = Run.objects.get()
    wait_for(lambda: hasattr(Run.objects.get(), "checkpoint"))
    return run, command


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--dataset", "recorder"], "did you mean 'recorded'"),
        (["--simulate", "trooth"], "did you mean 'truth'"),
        (["--machine", "box"], "no machine named 'box'"),
        (["--dataset", "recorded", "--evaluate", "nothing"], "no experiment set named 'nothing'"),
        (["--dataset", "recorded", "--set", "population"], "--set takes key=value"),
        (["--dataset", "recorded", "--set", "populaton=5"], "the nearest is 'population'"),
        (["--dataset", "recorded", "--set", "noise=0.1"], "needs --simulate"),
        (["--simulate", "truth", "--set", "noise=much"], "noise: expected a number"),
        (["--dataset", "recorded", "--schemes", "colour:red"], "colour"),
        (["--dataset", "recorded", "--schemes", "zzz"], "selects none of the 3 schemes of toy"),
        (["--dataset", "recorded", "--name", "old"], "already a run named 'old'"),
        (["--dataset", "recorded"] * 2 + ["--simulate", "truth"], "not allowed with argument"),
        ([], "one of the arguments --machine --dataset --simulate is required"),
    ],
)
@pytest.mark.django_db
def test_wrong_options_end_it_before_anything_is_stored(options, complaint):
    make_data()
    Run.objects.create(name="old", kind="infer", state="done")
    with pytest.raises(CommandError, match=complaint):
        infer(*options)
    assert Run.objects.count() == 1


@pytest.mark.django_db
def test_a_machine_that_cannot_measure_is_refused_with_a_hint():
    isa = make_data()
    Machine.objects.create(name="paper", kind="published", isa=isa)
    with pytest.raises(CommandError, match="choose one of its experiment sets"):
        infer("--machine", "paper", "--schemes", "all")


@pytest.mark.django_db
def test_a_run_is_not_started_by_hand():
    with pytest.raises(CommandError, match=r"manage\.py work"):
        call_command("fork-server", "1")


def exact(*options):
    out, told = io.StringIO(), io.StringIO()
    common = ["--algorithm", "cegar", "--simulate", "truth", "--set", "most_ports=3", "--mixes", "5"]
    call_command("infer", *common, *options, stdout=out, stderr=told)
    return out.getvalue(), told.getvalue()


def test_counter_examples_are_told_as_they_come_and_the_verdict_at_the_end(site, tmp_path):
    make_data()
    uops = tmp_path / "uops"
    uops.write_text("# of the truth\nc: 2\n")
    out, told = exact("--uops", str(uops), "--levels", "3", "--ports", "2")
    assert "port mapping 'truth · simulated · CEGAR': 3 schemes" in out
    assert "counter-examples, z3 " in out
    assert any(line.startswith(("Unique", "Ambiguous", "Best of")) for line in out.splitlines())
    assert "2 ports: given" in told
    assert payloads(Run.objects.get(), "candidates"), "otherwise this test shows nothing"
    assert " cycles?" in told
    assert any(word in told for word in ("first stays", "second stays", "neither explains it"))


def test_scripts_get_the_verdict_too(site):
    make_data()
    out, told = exact("--set", "on_clash=drop-scheme", "--json")
    answer = json.loads(out.splitlines()[-1])
    assert answer["verdict"] in ("unique", "ambiguous", "unproven")
    assert answer["dropped"] == ["c"], "it has two µops"
    assert "clash: c alone 2" in told
    assert {"counter_examples", "alternatives", "ambiguous", "dropped"} <= set(answer)


@pytest.mark.parametrize(
    ("option", "text", "complaint"),
    [
        ("--uops", "a: 1\nb: many", "line 2: 'b: many'"),
        ("--uops", "zz: 2", "toy has no scheme 'zz'"),
        ("--width", "a", "line 1"),
        ("--improper", "a\na", "line 2: 'a' is in line 1 already"),
        ("--uops", None, "cannot be read"),
    ],
)
@pytest.mark.django_db
def test_files_with_wrong_facts_are_named_with_their_line(tmp_path, option, text, complaint):
    make_data()
    file = tmp_path / "facts"
    if text is not None:
        file.write_text(text)
    with pytest.raises(CommandError, match=complaint):
        exact(option, str(file))
    assert not Run.objects.exists()


@pytest.mark.django_db
def test_levels_that_contradict_the_file_are_refused(tmp_path):
    make_data()
    (tmp_path / "uops").write_text("c: 2")
    with pytest.raises(CommandError, match="but --uops says otherwise"):
        exact("--levels", "2", "--uops", str(tmp_path / "uops"))
    with pytest.raises(CommandError, match="needs --uops"):
        exact("--levels", "3")
