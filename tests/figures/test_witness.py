"""The picture of a witness: what is flooded, what cannot evade, what goes elsewhere (Figs. 6.1, 6.2)."""

from __future__ import annotations

import pytest

from inference.core.explain import WitnessOutcome
from inference.figures.witness import UopRole, witness_picture
from tests.explained import ADD, ADD_LOAD, AGU, ALU, BSF, DATA, IMUL, IMUL_LOAD, PORTS, STORE, TRUTH, witness


def picture(scheme, mask, surplus, blocker=None, **other):
    uops = TRUTH.usage.get(scheme, ())
    return witness_picture(PORTS, 5.0, blocker or ((mask, 1),), uops, witness(scheme, mask, surplus, **other))


def heights(found, role):
    """{port: cycles} of the µops with a role."""
    return {
        column.name: pytest.approx(sum(part.height for part in column.parts if part.role is role))
        for column in found.columns
        if any(part.role is role for part in column.parts)
    }


def test_the_flood_fills_the_blocked_ports_and_what_cannot_evade_lies_on_top():
    found = picture(ADD_LOAD, ALU, 1.0)
    assert [column.blocked for column in found.columns] == [True, True, False, False]
    assert heights(found, UopRole.FLOOD) == {"0": 5.0, "1": 5.0}
    assert heights(found, UopRole.CONFINED) == {"0": 0.5, "1": 0.5}
    assert heights(found, UopRole.EVADING) == {"2": 1.0}
    assert (found.base, found.tested) == (5.0, 5.5)
    top = found.columns[0].parts[-1]
    assert (top.role, top.bottom) == (UopRole.CONFINED, pytest.approx(5.0))


def test_uops_that_can_evade_leave_the_flood_alone():
    found = picture(ADD, AGU, 0.0)
    assert heights(found, UopRole.CONFINED) == {}
    assert heights(found, UopRole.EVADING) == {"0": 0.5, "1": 0.5}
    assert found.base == found.tested == 10.0


def test_uops_on_subsets_cannot_evade_either():
    found = picture(IMUL_LOAD, ALU, 2.0, below=1)
    assert sum(part.height for c in found.columns for part in c.parts if part.role is UopRole.CONFINED) == (
        pytest.approx(2.0)
    )
    assert found.tested == pytest.approx(6.0)


def test_a_blocking_instruction_beside_itself_is_one_more():
    found = picture(IMUL, 0b10, 1.0)
    assert heights(found, UopRole.FLOOD) == {"1": 10.0}
    assert heights(found, UopRole.CONFINED) == {"1": 1.0}
    assert found.roles == (UopRole.FLOOD, UopRole.CONFINED)


def test_the_other_uop_of_an_improper_blocking_instruction_is_shown_apart():
    found = picture(ADD, DATA, 0.0, blocker=((ALU, 1), (DATA, 1)))
    assert heights(found, UopRole.FLOOD) == {"3": 10.0}
    assert heights(found, UopRole.BESIDE) == {"0": 5.0, "1": 5.0}
    itself = picture(STORE, DATA, 1.0, blocker=((ALU, 1), (DATA, 1)))
    assert heights(itself, UopRole.CONFINED) == {"3": 1.0}
    assert heights(itself, UopRole.EVADING) == {"0": 0.5, "1": 0.5}


def test_time_that_no_whole_number_explains_is_shown_as_such():
    found = picture(BSF, 0b10, 1.48, seen=WitnessOutcome.ODD)
    assert heights(found, UopRole.UNEXPLAINED) == {"1": 1.48}
    assert found.columns[1].load == pytest.approx(found.tested_measured)
    assert UopRole.UNEXPLAINED not in picture(ADD, ALU, 1.4).roles


def test_parts_stand_on_each_other_without_gaps():
    for column in picture(IMUL_LOAD, ALU, 2.0, below=1).columns:
        level = 0.0
        for part in column.parts:
            assert part.bottom == pytest.approx(level)
            level += part.height
        assert column.load == pytest.approx(level)
