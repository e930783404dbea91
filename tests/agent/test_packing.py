"""The packed agent: the same every time, and enough by itself."""

from __future__ import annotations

import ast
import io
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import inference
from inference.agent import packing

ROOT = Path(inference.__file__).parent.parent


def files() -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(packing.packed())) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def agent(tmp_path_factory) -> Path:
    """The packed file, written as `make agent` does."""
    target = tmp_path_factory.mktemp("dist") / "new" / "pmweb-agent.pyz"
    command = [sys.executable, "-m", "inference.agent.packing", str(target)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return target


def run_bare(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """This Python with nothing but its standard library, and nothing of this project on its path."""
    return subprocess.run(
        [sys.executable, "-I", "-S", *arguments],
        cwd=cwd,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_it_runs_with_nothing_installed(agent, tmp_path):
    answer = run_bare(str(agent), "--help", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "--server" in answer.stdout


def test_every_module_in_it_can_be_loaded_with_nothing_installed(agent, tmp_path):
    modules = sorted(
        name.removesuffix(".py").replace("/", ".")
        for name in files()
        if name.startswith("inference/agent/") and not name.endswith("__.py")
    )
    assert "inference.agent.protocol" in modules
    program = f"import sys; sys.path.insert(0, {str(agent)!r})\n"
    program += "\n".join(f"import {name}" for name in modules)
    program += "\nprint({m.split('.')[0] for m in sys.modules if 'site-packages' in str(sys.modules[m])})"
    answer = run_bare("-c", program, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip() == "set()"


def test_it_is_an_executable_that_finds_its_python(agent):
    assert agent.stat().st_mode & 0o111 == 0o111
    assert agent.read_bytes().startswith(b"#!/usr/bin/env python3\n")


def test_packing_twice_gives_the_same_bytes(agent):
    assert agent.read_bytes() == packing.packed()


def test_it_contains_the_agent_its_library_and_both_licences_and_nothing_compiled():
    contents = files()
    sources = {path.name for path in (ROOT / "inference" / "agent").rglob("*.py")}
    packed = {name.rpartition("/")[2] for name in contents if name.startswith("inference/agent/")}
    assert packed == sources - {"packing.py"}
    assert b"MIT" in contents["LICENSE"]
    assert b"Redistribution" in contents["websockets/LICENSE"]
    assert {Path(name).suffix for name in contents} == {".py", ""}
    assert inference.__version__ in contents["inference/__init__.py"].decode()


def test_the_oldest_python_is_the_one_that_library_and_project_ask_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    library = metadata.metadata("websockets")["Requires-Python"]
    for required in (project["requires-python"], library):
        version = re.match(r">=(\d+)\.(\d+)", required)
        assert version is not None
        assert (int(version[1]), int(version[2])) <= packing.OLDEST_PYTHON


def test_an_older_python_can_read_the_beginning_and_is_told_what_is_needed(tmp_path):
    main = files()["__main__.py"].decode()
    ast.parse(main, feature_version=(3, 0))
    pretend = f"import sys; sys.version_info = (3, 8, 0); sys.argv = ['pmweb-agent.pyz']; exec({main!r})"
    answer = run_bare("-c", pretend, cwd=tmp_path)
    assert answer.returncode == 1
    assert "needs Python 3.11 or newer; this is Python 3.8" in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize("arguments", [[], ["--help"], ["a", "b"]])
def test_packing_says_how_it_is_used(arguments, capsys):
    assert packing.main(arguments) == 2
    assert "usage: python -m inference.agent.packing FILE" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_named(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert packing.main([str(tmp_path / "file" / "pmweb-agent.pyz")]) == 1
    assert f"{tmp_path}/file" in capsys.readouterr().err


def test_a_library_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr(packing, "_LIBRARY", "no-such-library")
    with pytest.raises(packing.PackingError, match="no-such-library is not installed"):
        packing.packed.__wrapped__()
