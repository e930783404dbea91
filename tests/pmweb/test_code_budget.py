"""The budget for code: what counts as a line and as a token, and that more than a limit is refused."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from django.conf import settings

from tests.check_scripts import check_script

BUDGET = """
[allowances]
Doors = 2

[modules]
least = 3
smaller = 3

[rooms.program]
limit = 2

[rooms."program/inner"]
limit = 2
reason = "half as many soon"

[rooms.tests]
"""
SPREAD = """
    first = [
        1,
        2,
    ]
    second = first
"""
PACKED = "first = [1, 2]; second = first\n"


@pytest.fixture
def budget(tmp_path: Path):
    """The script, which counts a folder with two rooms in it and the tests."""
    script = check_script("budget")
    script.ROOT = tmp_path
    for folder in (".ci", "program/inner/migrations", "tests"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / ".ci/budget.toml").write_text(BUDGET)
    (tmp_path / "program/a.py").write_text("a = 1\nb = 2\n")
    (tmp_path / "program/inner/a.py").write_text("a = 1\nb = 2\n")
    (tmp_path / "program/inner/migrations/a.py").write_text("a = 1\nb = 2\n")
    (tmp_path / "tests/a.py").write_text("a = 1\n" * 9)
    return script


@pytest.fixture
def counted(tmp_path: Path):
    """Lines and tokens of a text that is stored under this name."""
    script = check_script("budget")

    def count(name: str, text: str) -> tuple[int, int]:
        (tmp_path / name).write_text(dedent(text))
        spans = list(script.code(tmp_path / name))
        return len({line for first, last in spans for line in range(first, last + 1)}), len(spans)

    return count


def test_rooms_that_keep_to_their_limits_pass(budget, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert budget.main(tmp_path) == 0
    table = capsys.readouterr().out.splitlines()
    assert [line.split()[:4] for line in table[1:4]] == [
        ["program", "2", "2", "6"],
        ["program/inner", "2", "2", "6"],
        ["tests", "9", "27"],
    ]
    assert table[2].endswith("half as many soon")
    assert "Doors 2" in table[-2]


def test_a_line_above_a_limit_fails(budget, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "program/inner/b.py").write_text("c = 3\n")
    assert budget.main(tmp_path) == 1
    (flaw,) = [line for line in capsys.readouterr().out.splitlines() if "above" in line]
    assert flaw.startswith("program/inner: 1 lines above")


def test_one_more_module_that_is_too_small_fails(budget, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    budget_file = tmp_path / ".ci/budget.toml"
    budget_file.write_text(BUDGET.replace("smaller = 3", "smaller = 2").replace("limit = 2", "limit = 9"))
    for unlimited in ("program/__init__.py", "program/urls.py", "tests/b.py"):
        (tmp_path / unlimited).write_text("c = 3\n")
    (tmp_path / "program/large.py").write_text("d = 4\n" * 3)
    assert budget.main(tmp_path) == 0
    (tmp_path / "program/small.py").write_text("e = 5\n" * 2)
    assert budget.main(tmp_path) == 1
    assert "1 small modules too many" in capsys.readouterr().out


@pytest.mark.parametrize(("granted", "status"), [(2, 0), (3, 1)])
def test_a_room_may_take_from_an_allowance_what_is_in_it(budget, tmp_path: Path, granted: int, status: int):
    (tmp_path / "program/inner/b.py").write_text("c = 3\nd = 4\n")
    text = BUDGET.replace("[rooms.tests]", f"granted = {{ Doors = {granted} }}\n\n[rooms.tests]")
    (tmp_path / ".ci/budget.toml").write_text(text)
    assert budget.main(tmp_path) == status


def test_lines_packed_into_one_have_as_many_tokens(counted):
    spread, packed = counted("spread.py", SPREAD), counted("packed.py", PACKED)
    assert (spread[0], packed[0]) == (5, 1)
    assert spread[1] == packed[1] == 10


def test_blanks_comments_and_docstrings_do_not_count(counted):
    text = '''
        """A module."""

        # a comment
        LIMIT = 3
        """Of what."""

        def scale(x):  # behind code
            """A function,

            explained.
            """
            return """a
        text"""
    '''
    assert counted("documented.py", text)[0] == 4


def test_scripts_without_a_suffix_count_as_their_first_line_says(counted):
    assert counted("check", "#!/usr/bin/env python3\na = 1\n")[0] == 1
    assert counted("run", "#!/bin/sh\necho a\n")[0] == 0


def test_comments_of_javascript_do_not_count_and_its_texts_do(counted):
    text = r"""
        /* a comment
           of two lines */
        const place = "https://example.org"; // behind code

        // alone
        const quoted = /["'/*]/.test(`a

        b`), half = place.length / 2;
    """
    assert counted("page.js", text)[0] == 4
    assert counted("none.js", "/** a */\n// b\n") == (0, 0)


def test_comments_of_templates_do_not_count(counted):
    text = """
        {# a #}
        {% comment "why" %}
          {{ nothing }}
        {% endcomment %}
        <!-- b
        -->
        <p>{{ row.name }}</p>
    """
    assert counted("page.html", text) == (1, 11)


def test_each_package_has_a_room():
    rooms = {path.parent.name for path in settings.BASE_DIR.glob("*/__init__.py")}
    budget = check_script("budget").tomllib.loads((settings.BASE_DIR / ".ci/budget.toml").read_text())
    assert rooms <= budget["rooms"].keys()
