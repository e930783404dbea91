"""What is known of schemes, as text: every complaint names line and scheme."""

from __future__ import annotations

import pytest

from inference.formats.scheme_lists import counts_text, ports_text, read_counts, read_names, read_ports
from inference.storage.instruction_sets import new_isa, unknown_schemes

ADD, IMUL = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R"


def test_colons_of_the_scheme_are_none_of_the_number():
    text = f"# known\n\n{ADD}: 4\n  {IMUL} :1  \n"
    assert read_counts(text) == ({ADD: 4, IMUL: 1}, [])
    assert read_counts(counts_text({ADD: 4, IMUL: 1})) == ({ADD: 4, IMUL: 1}, [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{ADD}", ["line 1", "ends with no whole number"]),
        (f"{ADD}: 4\n{ADD}: many", ["line 2", "many", "ends with no whole number"]),
        (f"{ADD}: 4\n{ADD}: 5", ["line 2", ADD, "has a line already"]),
        (": 4", ["line 1", "no scheme"]),
        (f"{ADD}: -1", ["line 1"]),
        (f"{ADD}: ²", ["line 1"]),
    ],
)
def test_wrong_lines_are_named(text, words):
    _, (complaint,) = read_counts(text)
    assert all(word in complaint for word in words)


def test_names_stand_alone_and_once():
    assert read_names(f"{ADD}\n\n{IMUL}\n") == ([ADD, IMUL], [])
    names, (complaint,) = read_names(f"{ADD}\n{ADD}")
    assert names == [ADD]
    assert "line 2" in complaint


@pytest.mark.django_db
def test_a_scheme_that_does_not_exist_is_named_with_the_nearest():
    isa = new_isa("toy", [ADD, IMUL], "a test")
    assert unknown_schemes([ADD], isa) == []
    (complaint,) = unknown_schemes([ADD, "imul GPR[64]:RW, GPR[64]:X"], isa)
    assert complaint.endswith(f"did you mean {IMUL!r}?")


def test_documented_ports_are_read_and_written() -> None:
    text = f"# Zen+\n{ADD}: 6 7, 8 9\n{IMUL}: 7\n"
    facts, problems = read_ports(text)
    assert (facts, problems) == ({ADD: ["6", "7", "8", "9"], IMUL: ["7"]}, [])
    assert read_ports(ports_text(facts)) == (facts, [])


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (ADD, "ends with no ports"),
        (f"{ADD}:", "ends with no ports"),
        (f"{ADD}: 1 1", "named twice"),
        (": 1 2", "ends with no ports"),
    ],
)
def test_lines_without_ports_are_named(line: str, complaint: str) -> None:
    facts, problems = read_ports(line)
    assert facts == {}
    assert len(problems) == 1
    assert complaint in problems[0]
    assert "line 1" in problems[0]
