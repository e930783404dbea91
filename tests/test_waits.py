"""Tests wait for what happens: a wait whose length matters says in its line why it is one.

They wait long for it: a busy computer may take a minute for what usually takes a moment.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

CLOCKS = {"monotonic", "perf_counter"}
WAITING = {"sleep", "receive_nothing", "Timer", "call_later"}
AWAITED = {"connect", "disconnect", "get_response", "receive_from", "receive_json_from", "receive_output"}
"""Of Channels' communicators, which give up after a second unless they are told another time."""

LONG = 20  # seconds
WAITS = re.compile("|".join(CLOCKS | WAITING | {"timeout="}))


def called(node: ast.AST) -> str:
    """The last part of the name of what is called; "" where nothing is."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "attr", "") or getattr(function, "id", "")


def is_wait(node: ast.AST) -> bool:
    """Whether it lasts for a time, or asserts how long something took on this computer."""
    match node:
        case ast.Call(args=[ast.Constant(value=0)]):  # others take their turn
            return False
        case ast.Call(keywords=keywords) if called(node) == "wait":
            return any(keyword.arg == "timeout" for keyword in keywords)
        case ast.Compare(left=ast.BinOp(op=ast.Sub(), left=clock), ops=[ast.Lt() | ast.LtE()]):
            return called(clock) in CLOCKS
    return called(node) in WAITING


def waits(node: ast.AST) -> Iterator[ast.expr]:
    """Those outside loops that look for a condition."""
    for child in ast.iter_child_nodes(node):
        if is_wait(child):
            assert isinstance(child, ast.expr)
            yield child
        if not isinstance(child, ast.While):
            yield from waits(child)


def without_reason(text: str) -> list[int]:
    """The lines of waits that have no comment."""
    if not WAITS.search(text):
        return []
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    reasons = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
    return [
        node.lineno
        for node in waits(ast.parse(text))
        if reasons.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    ]


def test_every_wait_in_tests_gives_its_reason():
    folder = Path(__file__).parent
    lines = [
        f"{path.relative_to(folder.parent)}:{line}"
        for path in sorted(folder.rglob("*.py"))
        for line in without_reason(path.read_text())
    ]
    assert not lines, "wait for a condition, or say in the line why it has to be a time"


def is_impatient(node: ast.AST) -> bool:
    """Whether it gives up on a communicator within seconds."""
    if not isinstance(node, ast.Await) or called(node.value) not in AWAITED:
        return False
    assert isinstance(node.value, ast.Call)
    times = [*node.value.args, *(keyword.value for keyword in node.value.keywords)]
    return not times or any(isinstance(time, ast.Constant) and time.value < LONG for time in times)


def is_hasty_handshake(node: ast.AST) -> bool:
    """Whether a client of websockets gives up on the handshake after its usual ten seconds."""
    if not isinstance(node, ast.Call) or called(node) != "connect":
        return False
    names = {keyword.arg for keyword in node.keywords}
    return "additional_headers" in names and "open_timeout" not in names


def impatient(text: str) -> list[int]:
    """The lines that give up too soon, of a file that drives communicators or clients."""
    if "Communicator" not in text and "additional_headers" not in text:
        return []
    nodes = list(ast.walk(ast.parse(text)))
    return [
        node.lineno
        for node in nodes
        if (isinstance(node, ast.Await) and is_impatient(node))
        or (isinstance(node, ast.Call) and is_hasty_handshake(node))
    ]


def test_answers_are_waited_for_on_a_busy_computer_too():
    folder = Path(__file__).parent
    lines = [
        f"{path.relative_to(folder.parent)}:{line}"
        for path in sorted(folder.rglob("*.py"))
        for line in impatient(path.read_text())
    ]
    assert not lines, "say a timeout of a minute: the default is a second"


@pytest.mark.parametrize(
    ("line", "is_flawed"),
    [
        ("await socket.connect()", True),
        ("await socket.receive_output(10)", True),
        ("await socket.receive_json_from(timeout=SOON)", False),
        ("await socket.receive_output(60)", False),
        ("site.connect()", False),
        ("connect(address, additional_headers=headers)", True),
        ("connect(address, additional_headers=headers, open_timeout=60)", False),
    ],
)
def test_an_impatient_line_is_found(line: str, is_flawed: bool):
    assert bool(impatient(f"async def test(socket: Communicator):\n    {line}\n")) is is_flawed


@pytest.mark.parametrize(
    ("line", "is_flawed"),
    [
        ("time.sleep(0.3)", True),
        ("time.sleep(0.3)  # for so long nothing comes", False),
        ("while not there(): time.sleep(0.3)", False),
        ("assert time.monotonic() - began < 5", True),
        ("assert time.monotonic() - began > 5", False),
        ("assert await socket.receive_nothing()", True),
        ("await asyncio.wait({task}, timeout=0.2)", True),
        ("await asyncio.sleep(0)", False),
    ],
)
def test_a_wait_without_a_reason_is_found(line: str, is_flawed: bool):
    text = f"async def test():\n    {line}\n"
    assert bool(without_reason(text)) is is_flawed
