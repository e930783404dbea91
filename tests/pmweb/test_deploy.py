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

DEPLOY = settings.BASE_DIR / "deploy"
VARIABLE = re.compile(r"\bPMWEB_[A-Z_]*[A-Z]\b")
MANUAL = (settings.BASE_DIR / "docs/operating.md").read_text()
COMMANDS = {"serve", "work", "backup"}
UNITS = sorted((DEPLOY / "systemd").glob("pmweb-*.service"))


def known_variables() -> set[str]:
    """Those of the table in the settings, in which `_PORT` continues `PMWEB_DATABASE_HOST`."""
    text = pmweb.settings.__doc__
    parts = {f"PMWEB_DATABASE{part}" for part in re.findall(r"`(_[A-Z]+)`", text)}
    return set(VARIABLE.findall(text)) | parts


@pytest.mark.parametrize("path", [path for path in sorted(DEPLOY.rglob("*")) if path.is_file()], ids=str)
def test_every_variable_that_a_file_sets_is_a_setting(path: Path):
    assert set(VARIABLE.findall(path.read_text())) <= known_variables()


def test_the_manual_explains_every_setting():
    missing = {
        name
        for name in known_variables()
        if name not in MANUAL and f"`_{name.rpartition('_')[2]}`" not in MANUAL
    }
    assert missing == set()


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
