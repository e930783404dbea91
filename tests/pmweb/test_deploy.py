"""The files in deploy/: each names only what there is, and says what operating.md and the settings say."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from django.conf import settings

import pmweb.settings
from pmweb import environment
from tests.check_scripts import check_script

DEPLOY = settings.BASE_DIR / "deploy"
VARIABLE = re.compile(r"\bPMWEB_[A-Z_]*[A-Z]\b")
MANUAL = (settings.BASE_DIR / "docs/operating.md").read_text()
COMMANDS = {"serve", "work", "backup"}
UNITS = sorted((DEPLOY / "systemd").glob("pmweb-*.service"))


def read_variables() -> set[str]:
    """Those that the settings read; numbers and choices note themselves, others are named by the source."""
    sources = "".join(Path(module.__file__).read_text() for module in (pmweb.settings, environment))
    parts = {f"PMWEB_DATABASE_{part}" for part in environment._PARTS}
    return (set(VARIABLE.findall(sources)) | environment.PUBLIC | parts) - {environment.WEB_PROCESS}


@pytest.mark.parametrize("path", [path for path in sorted(DEPLOY.rglob("*")) if path.is_file()], ids=str)
def test_every_variable_that_a_file_sets_is_a_setting(path: Path):
    assert set(VARIABLE.findall(path.read_text())) <= read_variables()


def test_the_manual_explains_every_setting():
    assert {name for name in read_variables() if f"`{name}`" not in MANUAL} == set()


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_runs_a_command_that_there_is_as_an_ordinary_user(path: Path):
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(path)
    words = unit["Service"]["ExecStart"].split()
    assert words[1] == "manage.py"
    assert words[2] in COMMANDS
    assert unit["Service"]["User"] == "pmweb"
    assert unit["Service"]["NoNewPrivileges"] == "yes"


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_systemd_understands_a_unit(path: Path, tmp_path: Path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: apt install systemd")
    text = path.read_text().replace("/opt/pmweb/.venv/bin/python", "/bin/true")
    (tmp_path / path.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / path.name)],
        env={**os.environ, "SYSTEMD_LOG_LEVEL": "warning"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert path.name not in done.stderr, done.stderr


def test_the_compose_file_has_all_parts_and_mounts_what_there_is():
    found = yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text())
    assert set(found["services"]) == {"database", "redis", "web", "worker", "nginx"}
    web = found["services"]["web"]
    assert web["command"] == ["serve"]
    assert (DEPLOY / "compose" / web["build"]["context"]).resolve() == settings.BASE_DIR
    assert (settings.BASE_DIR / web["build"]["dockerfile"]).is_file()
    configuration = found["services"]["nginx"]["volumes"][0].split(":")[0]
    assert (DEPLOY / "compose" / configuration).is_file()
    # The web process believes its proxy, so nobody else may reach it.
    assert found["services"]["nginx"]["network_mode"] == "service:web"


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_systemd_finds_a_unit_well_enclosed(path: Path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: apt install systemd")
    command = ["systemd-analyze", "security", "--offline=yes", "--no-pager", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "offline" in done.stderr:
        pytest.skip("this systemd-analyze looks at running units alone")
    exposure = re.search(r"exposure level for \S+: ([\d.]+) (\w+)", done.stdout)
    assert exposure is not None, done.stderr
    assert exposure.group(2) in {"OK", "SAFE"}, done.stdout


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_has_bounds_and_no_rights_of_root(path: Path):
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(path)
    service = unit["Service"]
    assert service["MemoryMax"]
    assert service["TasksMax"]
    assert service["CapabilityBoundingSet"] == ""
    assert service["SystemCallErrorNumber"] == "EPERM", "else what About tells of would kill the process"


def test_the_calls_that_the_sandbox_of_predictors_needs_are_let_through():
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: apt install systemd")
    needed = {"seccomp", "landlock_create_ruleset", "landlock_restrict_self", "unshare", "prlimit64"}
    needed |= {"setpriority", "sched_setaffinity", "prctl", "memfd_create", "mount", "mount_setattr"}
    for path in UNITS:
        if "backup" not in path.name:
            assert needed <= _let_through(path.read_text()), path.name


def _let_through(unit: str) -> set[str]:
    """System calls of the unit's filters, applied in turn."""
    allowed = _calls_of("@default")
    for words in re.findall(r"^SystemCallFilter=(.+)$", unit, re.MULTILINE):
        named = {call for word in words.removeprefix("~").split() for call in _calls_of(word)}
        allowed = allowed - named if words.startswith("~") else allowed | named
    return allowed


def _calls_of(word: str) -> set[str]:
    if not word.startswith("@"):
        return {word}
    told = subprocess.run(
        ["systemd-analyze", "syscall-filter", word], capture_output=True, text=True, check=True
    )
    lines = (line.strip() for line in told.stdout.splitlines()[1:])
    return {call for line in lines if line and not line.startswith("#") for call in _calls_of(line)}


def test_images_are_named_by_digest():
    digest = re.compile(r"@sha256:[0-9a-f]{64}$")
    bases = re.findall(r"^FROM (\S+)", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    parts = yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text())["services"].values()
    images = [*bases, *(part["image"] for part in parts if "build" not in part)]
    assert len(images) == 5
    assert [image for image in images if not digest.search(image)] == []


def test_the_example_asks_the_database_for_its_certificate():
    text = (DEPLOY / "systemd/pmweb.env").read_text()
    assert "PMWEB_DATABASE_SSLMODE=verify-full\n" in text
    assert "PGSSLROOTCERT=" in text


def test_security_md_names_what_there_is():
    text = (settings.BASE_DIR / "SECURITY.md").read_text()
    places = [place.partition("#")[0] for place in re.findall(r"\]\(([^)]+)\)", text)]
    assert len(places) > 8
    assert [place for place in places if not (settings.BASE_DIR / place).exists()] == []


@pytest.mark.parametrize(
    ("told", "status", "said"),
    [
        ("", 0, "skipped: no database"),
        ("Traceback …", 0, "skipped: no database"),
        ('{"dependencies": [{"name": "a", "skip_reason": "not found"}]}', 0, "skipped: the registry"),
        ('{"dependencies": [{"name": "a", "version": "1", "vulns": []}]}', 0, "in 1 of 1 packages"),
        (
            '{"dependencies": [{"name": "a", "version": "1", "vulns":'
            ' [{"id": "CVE-1", "fix_versions": ["2"]}]}]}',
            1,
            "a 1: CVE-1, mended in 2",
        ),
    ],
)
def test_known_vulnerabilities_fail_the_check_and_a_missing_network_does_not(
    told: str, status: int, said: str
):
    found, text = check_script("audit").judged(told)
    assert found == status
    assert said in text


def test_an_image_has_all_that_pages_are_made_of():
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    assert {"docs", "static", "templates"}.isdisjoint(path.strip("/").partition("/")[0] for path in ignored)
