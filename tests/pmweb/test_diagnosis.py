"""The bundle for bug reports: says what is needed, and no secret."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path

import django
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError

from inference.isa.targets import X86
from inference.models import ISA, ExperimentSet, Machine, Run
from inference.runs import fork_server, kinds
from inference.runs.errors import ConfigError
from pmweb import __version__, diagnosis, environment, metrics


def parts() -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(diagnosis.bundle())) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_it_says_versions_state_and_what_failed(db):
    error = "the machine can measure none of the listed experiments"
    Run.objects.create(name="a", kind="infer", state="failed", error=error)
    isa = ISA.objects.create(name=X86)
    facts = {"kernel": "Linux 6.1.0", "turbo": True}
    Machine.objects.create(name="b", kind="agent", isa=isa, cpu="A CPU", facts=facts)
    found = parts()
    assert f"pmweb: {__version__}" in found["installation.txt"]
    assert "Database: SQLite 3." in found["installation.txt"]
    assert f"django: {django.__version__}" in found["installation.txt"]
    assert "inference.0001_initial" in found["database.txt"]
    assert "pmweb_runs{" in found["metrics.txt"]
    (run,) = json.loads(found["failed-runs.json"])
    assert (run["error"], run["frames"]) == (error, [])
    (machine,) = json.loads(found["machines.json"])
    assert (machine["isa"], machine["cpu"], machine["facts"]) == (X86, "A CPU", facts)


NAMES = {
    "PMWEB_ALLOWED_HOSTS": "zebra.example.org,10.9.8.7",
    "PMWEB_CSRF_TRUSTED_ORIGINS": "https://zebra.example.org",
    "PMWEB_DATABASE_HOST": "zebra-db",
    "PMWEB_DATABASE_NAME": "zebra",
    "PMWEB_DATABASE_USER": "zebra",
    "PMWEB_DATABASE_URL": "postgresql://zebra:zebra@zebra-db/zebra",
    "PMWEB_URL": "https://zebra.example.org",
    "PMWEB_DASK": "tcp://zebra:8786",
    "PMWEB_HOME": "/home/zebra/var",
    "PMWEB_OSACA": "/home/zebra/bin/osaca",
    "PMWEB_REDIS_PREFIX": "zebra",
    "PMWEB_WEBHOOK": "https://zebra.example.org/",
}
PLANTED = ("zebra", "10.9.8.7", "8786", "127.0.0.1", "localhost", "/home/")
ERRORS = (
    "zebra cannot measure: zebra is not there",
    "'zebra.csv', row 7: 'zebra, 10.9.8.7' is no experiment",
    "zebra",
    "zebra: FileNotFoundError",
    "zebra.csv has been imported by another run meanwhile",
    'connection to server at "zebra-db" (10.9.8.7), port 5432 failed: FATAL: role "zebra"',
)


def broken() -> str:
    """What a run says that failed in a way that nobody has thought of."""
    try:
        try:
            Path("/home/zebra/zebra.csv").read_text()
        except OSError as error:
            raise ValueError("zebra: 10.9.8.7\nzebra: twice") from error
    except ValueError as error:
        return fork_server._failure_text(error)


def test_no_name_is_told(db, monkeypatch, settings):
    for name, value in NAMES.items():
        monkeypatch.setenv(name, value)
    settings.DASK = "tcp://127.0.0.1:1"
    settings.REDIS_URL = "redis://zebra:zebra@localhost:1/0"
    settings.ALLOWED_HOSTS = ["zebra.example.org"]
    User.objects.create(username="zebra")
    isa = ISA.objects.create(name="zebra")
    facts = {"host": "zebra", "hypervisor": "zebra", "mapping": "zebra", "checks": {"zebra": [1, 2]}}
    Machine.objects.create(
        name="zebra", kind="agent", isa=isa, cpu="A CPU", facts=facts, state_note="zebra has no room"
    )
    Machine.objects.create(name="zebra two", kind="simulated", isa=isa, cpu="zebra")
    ExperimentSet.objects.create(name="zebra", isa=isa, origin="upload")
    for number, error in enumerate((*ERRORS, broken())):
        Run.objects.create(name=f"zebra {number}", kind="infer", state="failed", error=error)
    found = parts()
    for name, text in found.items():
        for planted in PLANTED:
            assert planted not in text, f"{planted} in {name}: {text}"
    assert "Between processes: Redis cannot be used (ConnectionError)" in found["installation.txt"]
    assert "Dask: … cannot be reached" in found["installation.txt"]
    assert "PMWEB_ALLOWED_HOSTS: (set)" in found["environment.txt"]
    told = [run["error"] for run in json.loads(found["failed-runs.json"])]
    assert "… cannot measure: …" in told
    assert "… has been imported by another run meanwhile" in told


def test_of_an_unforeseen_error_it_says_class_and_frames_alone(db):
    with pytest.raises(ConfigError) as refusal:
        kinds.job("zebra")
    evidence = fork_server._failure_text(refusal.value)
    Run.objects.create(name="a", kind="infer", state="failed", error=evidence)
    (told,) = json.loads(parts()["failed-runs.json"])
    assert re.fullmatch(r"inference/runs/kinds\.py, line \d+, in job", told["frames"][-1])
    assert told["frames"][0] == "…", "this test is no part of the product"
    assert "zebra" not in json.dumps(told)
    assert told["error"] == "ConfigError: there is no run of kind …; there are …"


def test_settings_that_name_nothing_are_told_in_full_and_no_secret_is(db, monkeypatch):
    for name in ("SECRET_KEY", "DATABASE_URL", "DATABASE_PASSWORD", "REDIS_URL", "METRICS_TOKEN", "NEW"):
        monkeypatch.setenv(f"PMWEB_{name}", "s3cret")
    monkeypatch.setenv("PMWEB_LOG_FORMAT", "json")
    Run.objects.create(name="a", kind="infer", state="failed", error="GET /login/s3cret/ failed")
    found = parts()
    assert "s3cret" not in "".join(found.values())
    assert "PMWEB_DATABASE_PASSWORD: (set)" in found["environment.txt"]
    assert "PMWEB_LOG_FORMAT: json" in found["environment.txt"]


def test_numbers_and_choices_are_told_whoever_reads_them_and_no_name_is():
    names = "TLS DEBUG WEB_PROCESSES HSTS_SECONDS LOG_FORMAT UPLOAD_MB KEEP_AUDIT PRUNE_NIGHTLY HEAD_SECONDS"
    assert {f"PMWEB_{name}" for name in names.split()} <= environment.PUBLIC
    secrets = {"PMWEB_SECRET_KEY", "PMWEB_DATABASE_PASSWORD", "PMWEB_REDIS_URL", "PMWEB_METRICS_TOKEN"}
    assert not environment.PUBLIC & (NAMES.keys() | secrets)


def test_what_cannot_be_had_says_why_and_not_where(db, monkeypatch):
    def away() -> str:
        raise OperationalError("nobody at zebra")

    monkeypatch.setitem(diagnosis.PARTS, "metrics.txt", away)
    assert parts()["metrics.txt"] == "not available: OperationalError\n"
    assert metrics.exposition()


def test_the_command_replaces_no_file(db, tmp_path):
    call_command("diagnose", tmp_path / "report.zip", stdout=io.StringIO())
    assert zipfile.is_zipfile(tmp_path / "report.zip")
    with pytest.raises(CommandError, match="File exists"):
        call_command("diagnose", tmp_path / "report.zip")
