"""What a user decides about a file of experiments, what its numbers are, and what is hard to believe."""

from __future__ import annotations

import random
import tracemalloc

import numpy as np
import pytest

from inference.core.evaluator import PortMappingModel
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.formats.file_numbers import FileUnit, doubts_of, likely_unit, unit_in_doubt
from inference.formats.import_formats import read
from inference.formats.parsing import AnyNames, parse, resolve
from inference.models import ISA
from inference.storage.importing import commit, preview
from tests.formats.small_files import TwoSchemes
from tests.rows.library import ADD, IMUL, isa

__all__ = ["isa"]

HEADER = "experiment,cycles\n"


def rows(*lines: str, header: str = HEADER) -> bytes:
    """A file of these lines."""
    return (header + "\n".join(lines) + "\n").encode()


def mixes(n: int, unit: FileUnit) -> tuple[list[float], list[int]]:
    """Numbers in a unit and the lengths of their experiments, of a processor of four instructions a cycle."""
    dice = random.Random(n)
    found = []
    for _ in range(n):
        length = dice.randint(1, 6)
        cycles = length * dice.choice((0.25, 0.25, 0.33, 0.5, 1.0, 20.0))
        value = {"cpi": cycles / length, "ipc": length / cycles, "hundredths": 100 * cycles}.get(unit, cycles)
        found.append((value, length))
    values, lengths = zip(*found, strict=True)
    return list(values), list(lengths)


@pytest.mark.parametrize("unit", list(FileUnit))
def test_numbers_tell_their_unit(unit: FileUnit) -> None:
    guess = likely_unit(*mixes(400, unit))
    assert guess is not None
    assert guess.unit is unit


def test_few_numbers_tell_nothing() -> None:
    assert likely_unit([100.0] * 5, [1] * 5) is None
    assert likely_unit([1.0] * 50, [1] * 50) is None, "of single instructions all units are the same"


def test_a_file_is_read_in_the_unit_that_its_numbers_seem_to_be_only_where_that_is_asked() -> None:
    values, lengths = mixes(60, FileUnit.HUNDREDTHS)
    pairs = zip(values, lengths, strict=True)
    content = rows(*(f"{length}*a{k % 7},{value}" for k, (value, length) in enumerate(pairs)))
    taken = resolve(read(content, "f.csv", None), AnyNames())
    assert taken.measured[0].cycles == pytest.approx(values[0] / 100)
    assert unit_in_doubt(taken.facts) == ""
    plain = parse(content, "f.csv", AnyNames())
    assert plain.measured[0].cycles == values[0]
    assert "cycles of 100 executions" in unit_in_doubt(plain.facts)


@pytest.mark.parametrize(
    ("title", "cycles"),
    [
        ("IPC", 1.0),
        ("cycles per instruction", 4.0),
        ("cycles_per_100_iterations", 0.02),
        ("Inverse throughput", 2.0),
    ],
)
def test_the_title_of_a_column_names_the_unit(title: str, cycles: float) -> None:
    reading = read(rows("a; a,2", header=f"experiment,{title}\n"), "f.csv", FileUnit.CYCLES)
    (result,) = resolve(reading, AnyNames()).measured
    assert result.cycles == cycles


def test_columns_may_be_separated_by_tabs() -> None:
    parsed = parse(rows("add R, R; mul R\t1.5", header="experiment\tcycles\n"), "f.tsv", AnyNames())
    assert [str(each.experiment) for each in parsed.measured] == ["add R, R; mul R"]


def test_broken_rows_are_left_out_only_where_that_is_asked_and_all_are_counted() -> None:
    content = rows('"add R, R",1', "b,fast", '"ad R, R",1', '"mul R, R",0', '"2*mul R, R",2')
    stopped = parse(content, "f.csv", TwoSchemes())
    assert len(stopped.measured) == 0
    assert stopped.blocking == stopped.problem_count > 0
    assert stopped.can_leave_out
    left = resolve(read(content, "f.csv"), TwoSchemes(), leave_out=True)
    assert left.blocking == 0
    assert (left.broken, left.left) == (3, 2)
    assert [each.cycles for each in left.measured] == [1.0, 2.0]
    assert [problem.row for problem in left.problems] == [3, 3, 4, 5], "row, unknown name, unknown name, row"


@pytest.mark.parametrize(
    "content",
    [
        rows('"add R, R",1', '"add R, R"'[:-1] + ",1"),  # a quote that never ends: nobody knows what follows
        rows("b,1", "c,1", "d,1", "e,1", "f,1", "a,fast"),  # all names unknown: another instruction set
        rows("x,fast"),
    ],
)
def test_what_concerns_the_file_as_a_whole_cannot_be_left_out(content: bytes) -> None:
    left = resolve(read(content, "f.csv"), TwoSchemes(), leave_out=True)
    assert left.blocking > 0
    assert not left.can_leave_out
    assert len(left.measured) == 0


def test_unknown_names_are_taken_for_the_nearest_schemes_on_demand_and_the_set_keeps_it(isa: ISA) -> None:
    wrong = ADD.replace("add", "addd")
    content = rows(f'"{wrong}",0.25', f'"{wrong}; {IMUL}",1', f'"{IMUL}",fast')
    seen = preview(content, "f.csv", isa=isa)
    assert not seen.acceptable
    (unknown,) = seen.parsed.unknown
    assert (unknown.name, unknown.rows, unknown.row) == (wrong, 2, 2)
    assert unknown.nearest[0] == ADD
    seen = preview(content, "f.csv", isa=isa, take_nearest=True, leave_out=True)
    assert seen.substitutes == {wrong: ADD}
    again = preview(content, "f.csv", isa=isa, substitutes=seen.substitutes, leave_out=True)
    assert list(again.parsed.measured) == list(seen.parsed.measured)
    made = commit(again, "kept").row
    assert made.making["names_taken"] == {wrong: ADD}
    assert made.making["rows_left_out"] == 1
    assert "f.csv, row 4, column cycles" in made.making["why"][0]


def test_rows_that_no_processor_can_be_so_quick_for_and_contradictions_are_pointed_at() -> None:
    content = rows("20*a,0.5", "a,1", "b,1", "a,1.05", "a,1.5", "2*b,1.1")
    wide, contradicted = doubts_of(parse(content, "f.csv", AnyNames()).measured)
    assert (wide.count, [each.row for each in wide.listed]) == (1, [2])
    assert "40.0 instructions per cycle" in wide.listed[0].why
    assert [each.row for each in contradicted.listed] == [6]
    assert "row 3 says 1" in contradicted.listed[0].why


def test_numbers_below_what_the_ports_of_a_mapping_need_are_pointed_at() -> None:
    ports = PortMappingModel(PortMapping(("0", "1"), {"a": ((0b01, 1),), "b": ((0b11, 1),)}))
    parsed = parse(rows("2*a,1", "2*b,1", "a; c,0.5", "a,0.95"), "f.csv", AnyNames())
    (found,) = doubts_of(parsed.measured, ports)
    assert [(each.row, each.why) for each in found.listed] == [(2, "the ports need 2.00 cycles")]


def test_a_large_file_takes_a_bounded_number_of_bytes_per_row() -> None:
    names = [f"op{k:03} R, R" for k in range(300)]
    dice = np.random.default_rng(1)
    picks = dice.integers(0, 300, size=(8000, 4)).tolist()
    lines = ["; ".join(names[k] for k in sorted(set(pick))) for pick in picks]
    content = rows(*(f'"{line}",1.5' for line in lines))
    tracemalloc.start()
    try:
        parsed = parse(content, "f.csv", AnyNames())
        assert len(parsed.measured) == len(lines)
        assert parsed.measured[7999].experiment.length == len(set(picks[7999]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 700 * len(lines) + len(content), "values are made as they are looked at"


def test_every_broken_row_of_a_large_file_is_told_by_its_own_number() -> None:
    lines = [f"a{k % 50},{k % 9 + 1}" for k in range(30_000)]
    broken = {17: "a1,x", 12_345: ",1", 29_999: "a1"}
    for place, line in broken.items():
        lines[place] = line
    parsed = parse(rows(*lines), "f.csv", AnyNames())
    assert [problem.row for problem in parsed.problems] == [place + 2 for place in broken]
    experiments = resolve(read(rows(*lines), "f.csv"), AnyNames(), leave_out=True).measured
    assert len(experiments) == 29_997
    assert experiments[-1].experiment == Experiment.of([f"a{29_998 % 50}"])
