"""README and docs name commands, options, addresses and benchmarks that are there."""

from __future__ import annotations

import re
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class
from django.urls import Resolver404, resolve

ROOT = Path(__file__).parents[2]
TEXTS = {
    str(file.relative_to(ROOT)): file.read_text().replace("\\\n", " ")
    for file in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
}
COMMAND = re.compile(r"manage\.py ([a-z][\w-]*)([^\n`|]*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
ADDRESS = re.compile(r"`(/[a-z][a-z0-9_/-]*/)`")
BENCHMARK = re.compile(r"python -m benchmarks ([a-z][\w-]*)")
ELSEWHERE = ("/proc/", "/sys/", "/dev/", "/etc/", "/var/", "/run/", "/tmp/", "/usr/", "/srv/", "/opt/")
SOCKETS = "/ws/"


def found(pattern: re.Pattern[str]) -> list[tuple[str, ...]]:
    """(file, groups) of each distinct match."""
    return sorted(
        {(name, *match.groups()) for name, text in TEXTS.items() for match in pattern.finditer(text)}
    )


def options_of(parser: ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, _SubParsersAction):
            for below in action.choices.values():
                yield from options_of(below)


@pytest.mark.parametrize(("file", "command", "rest"), found(COMMAND))
def test_commands_have_the_options_that_are_documented(file: str, command: str, rest: str) -> None:
    application = get_commands().get(command)
    assert application, f"{file}: there is no command {command!r}"
    parser = load_command_class(application, command).create_parser("manage.py", command)
    assert {*OPTION.findall(rest)} <= {*options_of(parser)}, file


@pytest.mark.parametrize(("file", "address"), found(ADDRESS))
def test_addresses_lead_somewhere(file: str, address: str) -> None:
    if address.startswith((*ELSEWHERE, SOCKETS)):
        return
    try:
        resolve(address)
    except Resolver404:
        pytest.fail(f"{file}: {address} leads nowhere")


@pytest.mark.parametrize(("file", "name"), found(BENCHMARK))
def test_benchmarks_exist(file: str, name: str) -> None:
    assert (ROOT / "benchmarks" / f"{name.replace('-', '_')}.py").is_file(), file
