"""Names of tools, campaigns and columns from anywhere: in commands, sessions, verdicts and baselines."""

from __future__ import annotations

import json
import shlex
import xml.etree.ElementTree as ElementTree

import pytest

from anica_app.features.discoveries.tool_commands import commands_for, state
from inference.core.texts import is_line
from inference.formats.accuracy_baseline import (
    AccuracyBaseline,
    BaselineColumn,
    read_baseline,
    write_baseline,
)
from inference.formats.junit import TestCase, write_junit
from inference.formats.quoting import code_block, code_span, json_text, markdown_line, shell_word, yaml_line
from inference.models import Predictor
from tests.hostile_texts import MARK, WORST, shape_of_lines

BLOCK = bytes.fromhex("4801d8")
DIRECTIVES = ("# LLVM-", "# OSACA-", "# IACA", "#APP")


def predictor(name: str) -> Predictor:
    return Predictor(name=name, kind="planted", options={"a": 1}, identity={"kind": "planted"})


def test_a_session_has_comments_and_the_block_and_nothing_else() -> None:
    for text in WORST:
        source = state(BLOCK, "haswell", f"{text}\n{text}")["sessions"][0]["source"]
        *comments, block, end = source.split("\n")
        assert (block, end) == ("addq %rbx, %rax", ""), ascii(text)
        assert all(line.startswith("# ") and not line.startswith(DIRECTIVES) for line in comments), ascii(
            text
        )
        assert len(shape_of_lines(source)) == len(comments) + 2


def test_a_command_asks_one_program_by_one_name() -> None:
    for text in WORST:
        (own,) = (one.text for one in commands_for([predictor(text)], BLOCK) if one.own)
        words = shlex.split(own)
        assert len(shape_of_lines(own)) == 1, ascii(text)
        assert words[:6] == ["echo", "4801d8", "|", "manage.py", "predict", "-"]
        assert len(words) == (7 if text.startswith("-") else 8), ascii(text)


def test_verdicts_are_xml_whatever_a_column_is_called() -> None:
    for text in WORST:
        made = write_junit(text, text, [TestCase(text, text, text), TestCase(text, text, skipped=text)])
        tags = [element.tag for element in ElementTree.fromstring(made.encode()).iter()]
        assert tags == ["testsuites", "testsuite", "testcase", "failure", "testcase", "skipped"], ascii(text)


def test_a_baseline_is_written_so_that_it_reads_again() -> None:
    for text in WORST:
        if "\ud800" in text:
            continue  # no row has it
        column = BaselineColumn(name=text, answered=1, mape=None, kendall=None)
        baseline = AccuracyBaseline(
            set=text, blocks=1, digest="0" * 64, reference=text, numbers=1, columns=[column]
        )
        again = read_baseline(write_baseline(baseline).encode(), "baseline.json")
        assert is_line(again.set), ascii(text)
        if is_line(text):
            assert again == baseline


@pytest.mark.parametrize("write", [code_span, json_text, markdown_line, shell_word, yaml_line])
def test_every_syntax_makes_one_line_of_any_text(write) -> None:
    for text in WORST:
        made = write(text)
        assert len(shape_of_lines(made)) == 1, ascii(text)
        made.encode()


def test_values_come_back_from_their_syntax() -> None:
    for text in WORST:
        if "\ud800" not in text:
            assert json.loads(json_text(text)) == text
        if is_line(text) and text == " ".join(text.split()):
            assert shlex.split(shell_word(text)) == [text]


def test_no_text_ends_a_block_of_code() -> None:
    for text in WORST:
        first, *inside, last = code_block("sh", f"{text}\n{text}").split("\n")
        assert first == f"{last}sh"
        assert last not in {line.strip() for line in inside}, ascii(text)
        assert MARK in "\n".join(inside)
