"""One class per event: registered, emitted as a value, and named from the class wherever it is read."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from pydantic import ValidationError

from inference.core.events import Event, Log
from inference.formats import journal_events
from tests.syntax import trees_with

ROOT = Path(__file__).resolve().parents[2]

NAMES = """
import json, pkgutil, importlib
import django
django.setup()
from inference.core.events import Event
from inference.formats import journal_events
registered = sorted(journal_events.kinds())
for name in ("inference", "anica_app"):
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, name + "."):
        if ".migrations" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)

def below(event):
    for each in event.__subclasses__():
        yield each
        yield from below(each)

classes = [event for event in below(Event) if event.kind]
print(json.dumps([registered, sorted(event.kind for event in classes)]))
"""

OTHER_KINDS = {
    "inference/agent/session.py": "messages between agent and server",
    "inference/web/api/client_frame.py": "a client that runs without pmweb",
    "benchmarks/_input_importers.py": "messages of an agent",
}
"""Files in which a name of an event is something else, or stands for itself."""

UNHEARD = {"standing", "saved", "drift", "block"}
"""No script follows them: a search's counts are drawn with its candidates, a block's result with the progress
of its run, and what congruence saved and drift checks say stands in the log."""


@cache
def names() -> tuple[list[str], list[str]]:
    """The registered names, and those of all classes that there are."""
    settings = {**os.environ, "DJANGO_SETTINGS_MODULE": "pmweb.settings"}
    done = subprocess.run(
        [sys.executable, "-c", NAMES], cwd=ROOT, env=settings, capture_output=True, text=True, check=True
    )
    registered, declared = ast.literal_eval(done.stdout.splitlines()[-1])
    return registered, declared


def sources(words: Collection[str]) -> Iterator[tuple[str, ast.AST]]:
    for path, tree in trees_with(words, "inference", "anica_app", "pmweb", "benchmarks"):
        name = path.relative_to(ROOT).as_posix()
        if "migrations" not in path.parts and name not in OTHER_KINDS:
            yield name, tree


def test_every_class_of_an_event_is_registered_once() -> None:
    registered, declared = names()
    assert registered == declared
    assert len(set(declared)) == len(declared) > 30


def test_a_second_class_with_the_name_of_an_event_is_refused() -> None:
    with pytest.raises(TypeError, match=r"event 'log' is declared by Log and .*Sentence"):

        @dataclass(frozen=True)
        class Sentence(Event):
            kind = "log"


def texts_in(node: ast.AST) -> set[str]:
    return {
        part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and type(part.value) is str
    }


def says_kind(node: ast.AST) -> bool:
    """Whether it is `kind`, `event.kind`, or `event["kind"]`."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == "kind"
    return (isinstance(node, ast.Name) and node.id == "kind") or (
        isinstance(node, ast.Attribute) and node.attr == "kind" and getattr(node.value, "id", "") == "event"
    )


def names_by_string(tree: ast.AST) -> Iterator[tuple[int, set[str]]]:
    """Lines in which the kind of an event is compared, looked up or emitted, and the texts in there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and says_kind(node.left):
            yield node.lineno, set().union(*map(texts_in, node.comparators))
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            of_events = "Event" in ast.unparse(node.func) or "event" in ast.unparse(node.func)
            for keyword in node.keywords:
                if keyword.arg in ("kind", "kind__in") and of_events:
                    yield node.lineno, texts_in(keyword.value)
            if name in ("tell", "emit", "draw", "due") and node.args:
                yield node.lineno, texts_in(node.args[0]) if isinstance(node.args[0], ast.Constant) else set()
        elif (
            isinstance(node, ast.Tuple)
            and len(node.elts) == 2
            and isinstance(node.elts[0], ast.Constant)
            and isinstance(node.elts[1], ast.Dict)
        ):
            yield node.lineno, texts_in(node.elts[0])


def test_no_file_names_an_event_by_a_string_of_its_own() -> None:
    kinds = set(names()[0])
    found = [
        f"{name}:{line}: {', '.join(sorted(texts & kinds))}"
        for name, tree in sources([f'"{kind}"' for kind in kinds])
        for line, texts in names_by_string(tree)
        if texts & kinds
    ]
    assert found == []


def reads_payload(node: ast.AST) -> bool:
    """Whether it is `payload`, `event.payload`, or `event["payload"]`."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == "payload"
    return "payload" in (getattr(node, "id", ""), getattr(node, "attr", ""))


def fields_by_string(tree: ast.AST) -> Iterator[int]:
    """Lines in which a field of a payload is looked up by its name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and reads_payload(node.value):
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                yield node.lineno
        elif isinstance(node, ast.Attribute) and node.attr == "get" and reads_payload(node.value):
            yield node.lineno


def test_fields_of_events_are_read_from_their_classes() -> None:
    """A misspelt field is an error of the type checker: `journal_events.read` makes events of payloads."""
    lines = [f"{name}:{line}" for name, tree in sources(["payload"]) for line in fields_by_string(tree)]
    assert lines == []


def test_stored_events_are_read_by_their_classes() -> None:
    assert journal_events.read("log", {"level": "info", "text": "fine"}) == Log("info", "fine")
    assert journal_events.read("a kind that nobody knows", {}) is None
    assert journal_events.read("heat_map", {}) is None, "a newer one has replaced it"
    with pytest.raises(ValidationError, match="text"):
        journal_events.read("log", {"level": "info", "texts": "fine"})


def handled_by_scripts() -> dict[str, set[str]]:
    """The names of events in each script that follows a journal."""
    found = {}
    for path in sorted((ROOT / "static" / "js").glob("*.js")):
        text = path.read_text()
        if "new LiveJournal(" not in text:
            continue
        handled = set(re.findall(r'kind === "(\w+)"', text))
        for listed in re.findall(r"RINGING = \[([^\]]*)\]", text):
            handled |= set(re.findall(r'"(\w+)"', listed))
        for listeners in re.findall(r"^const LISTENERS = \{\n(.*?)^\};", text, re.S | re.M):
            handled |= set(re.findall(r"^  (\w+):", listeners, re.M))
            for listed in re.findall(r"\.fromEntries\(\[([^\]]*)\]", listeners):
                handled |= set(re.findall(r'"(\w+)"', listed))
        found[path.name] = handled
    return found


def test_scripts_follow_events_that_there_are_and_all_of_them() -> None:
    handled = handled_by_scripts()
    assert {"run.js", "campaign.js", "asked-blocks.js", "heatmap.js"} <= handled.keys()
    declared = set(names()[0])
    for script, kinds in handled.items():
        assert kinds <= declared, script
    assert declared - set().union(*handled.values()) == UNHEARD


def test_what_the_journal_does_with_events_is_declared_with_them() -> None:
    kinds = {name: journal_events.kinds()[name] for name in names()[0]}
    assert {name for name, kind in kinds.items() if kind.replaced} == {
        *("heat_map", "progress", "experiments", "front", "counters", "families"),
    }
    assert {name for name, kind in kinds.items() if kind.is_numbered()} == {
        *("phase", "generation", "cloud", "sweep", "congruence", "funnel", "excluded", "blocking"),
        *("verdicts", "candidates", "decision", "batch", "discovery"),
    }
