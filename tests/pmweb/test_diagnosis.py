"""The bundle for bug reports: says what is needed, and no secret."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError

from inference.models import ISA, Machine, Run
from pmweb import __version__, diagnosis, metrics


def parts() -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(diagnosis.bundle())) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_it_says_versions_state_and_what_failed(db):
    Run.objects.create(name="our secret project", kind="infer", state="failed", error="no such port")
    isa = ISA.objects.create(name="toy")
    Machine.objects.create(
        name="fileserver", kind="agent", isa=isa, cpu="A CPU", facts={"host": "fileserver"}
    )
    found = parts()
    assert f"pmweb: {__version__}" in found["installation.txt"]
    assert "inference.0001_initial" in found["database.txt"]
    assert "pmweb_runs{" in found["metrics.txt"]
    assert json.loads(found["failed-runs.json"])[0]["error"] == "no such port"
    assert json.loads(found["machines.json"])[0]["cpu"] == "A CPU"
    everything = "".join(found.values())
    assert "our secret project" not in everything
    assert "fileserver" not in everything


def test_no_secret_is_told(db, monkeypatch):
    for name in ("SECRET_KEY", "DATABASE_URL", "DATABASE_PASSWORD", "REDIS_URL", "METRICS_TOKEN"):
        monkeypatch.setenv(f"PMWEB_{name}", "s3cret")
    monkeypatch.setenv("PMWEB_LOG_FORMAT", "json")
    Run.objects.create(name="a", kind="infer", state="failed", error="GET /login/s3cret/ failed")
    found = parts()
    assert "s3cret" not in "".join(found.values())
    assert "PMWEB_DATABASE_PASSWORD: (set, 6 characters)" in found["environment.txt"]
    assert "PMWEB_LOG_FORMAT: json" in found["environment.txt"]


def test_what_cannot_be_had_says_why(db, monkeypatch):
    def away() -> str:
        raise OperationalError("nobody there")

    monkeypatch.setitem(diagnosis.PARTS, "metrics.txt", away)
    assert parts()["metrics.txt"] == "not to be had: OperationalError: nobody there\n"
    assert metrics.exposition()


def test_the_command_replaces_no_file(db, tmp_path):
    call_command("diagnose", tmp_path / "report.zip", stdout=io.StringIO())
    assert zipfile.is_zipfile(tmp_path / "report.zip")
    with pytest.raises(CommandError, match="File exists"):
        call_command("diagnose", tmp_path / "report.zip")
