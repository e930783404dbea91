"""Memory forms take the µops of their register forms and of an access, where that costs little."""

from __future__ import annotations

from inference.core.pmevo.refit.preferences import FormPair, prefer_fewer, prefer_forms, prefer_own_ports
from inference.core.pmevo.refit.usage import Usage

ALU, LEFT, RIGHT, DATA = 0b0011, 0b0100, 0b1000, 0b10000
LOAD = LEFT | RIGHT

REGISTERS, LOADS, MODIFIED = (0, 1, 2), (3, 4, 5), (6, 7)
FORMS = [
    *(FormPair(memory, register, "r") for memory, register in zip(LOADS, REGISTERS, strict=True)),
    *(FormPair(memory, register, "rw") for memory, register in zip(MODIFIED, REGISTERS[:2], strict=True)),
]


def usage() -> Usage:
    """All regular but one load, which has one port too few, and one that modifies memory with half a load."""
    found = Usage.empty(8)
    for scheme in REGISTERS:
        found.set_row(scheme, [(ALU, 1)])
    for scheme in LOADS[:2]:
        found.set_row(scheme, [(ALU, 1), (LOAD, 1)])
    found.set_row(LOADS[2], [(ALU, 1), (LEFT, 1)])
    found.set_row(MODIFIED[0], [(ALU, 1), (LOAD, 1), (DATA, 1)])
    found.set_row(MODIFIED[1], [(ALU, 1), (RIGHT, 1), (DATA, 1)])
    return found


def changed(before: Usage, after: Usage) -> int:
    return sum(before.row(scheme) != after.row(scheme) for scheme in range(8))


def test_irregular_forms_become_regular_where_that_is_cheap() -> None:
    before = usage()
    found = prefer_forms(before, FORMS, lambda each: float(changed(before, each)), 1.0)
    assert found.row(LOADS[2]) == found.row(LOADS[0])
    assert found.row(MODIFIED[1]) == found.row(MODIFIED[0])
    assert before.row(LOADS[2]) == ((ALU, 1), (LEFT, 1)), "the mapping given is left as it is"


def test_what_measurements_say_clearly_stays() -> None:
    before = usage()
    found = prefer_forms(before, FORMS, lambda each: 5.0 * changed(before, each), 1.0)
    assert changed(before, found) == 0


def test_slots_are_those_that_cost_least() -> None:
    before = usage()
    found = prefer_forms(before, FORMS, lambda each: float(abs(int(each.slots[LOADS[2]]) - 2)), 1.0)
    assert found.slots[LOADS[2]] == 2


DOMAINS = ["integer", "integer", "integer", None, None, None, None, None]


def strayed() -> Usage:
    """Two integer schemes on the ALUs, one that has a µop on a load port too."""
    found = usage()
    found.set_row(REGISTERS[2], [(ALU, 1), (LEFT, 1)])
    return found


def test_uops_on_ports_of_another_domain_go_where_that_is_cheap() -> None:
    domains = [*DOMAINS, "memory"]
    before = Usage.empty(9)
    for scheme in range(8):
        before.set_row(scheme, strayed().row(scheme))
    before.set_row(8, [(LOAD, 1)])
    found = prefer_own_ports(before, domains, lambda each: float(before.row(2) != each.row(2)), 1.0)
    assert found.row(REGISTERS[2]) == ((ALU, 1),)
    assert [found.row(scheme) for scheme in LOADS] == [before.row(scheme) for scheme in LOADS]
    costly = prefer_own_ports(before, domains, lambda each: 5.0 * (before.row(2) != each.row(2)), 1.0)
    assert costly.row(REGISTERS[2]) == before.row(REGISTERS[2])


def test_a_scheme_on_ports_of_another_domain_alone_goes_to_the_ports_of_its_own() -> None:
    before = Usage.empty(12)
    for scheme in range(12):
        before.set_row(scheme, [(ALU if scheme in REGISTERS[:2] else LOAD, 1)])
    domains = ["integer" if scheme in REGISTERS else "memory" for scheme in range(12)]
    found = prefer_own_ports(before, domains, lambda each: float(before.row(2) != each.row(2)), 1.0)
    assert found.row(REGISTERS[2]) == ((ALU, 1),), "never left without any µop"


def test_ports_that_no_domain_has_nearly_alone_are_for_all() -> None:
    before = strayed()
    assert changed(before, prefer_own_ports(before, DOMAINS, lambda _: 0.0, 1.0)) == 0


def test_a_second_uop_that_explains_nothing_goes() -> None:
    before = strayed()
    found = prefer_fewer(before, DOMAINS, lambda each: float(each.uops))
    assert found.row(REGISTERS[2]) == ((LEFT, 1),), "one µop stays"
    assert [found.row(scheme) for scheme in LOADS] == [before.row(scheme) for scheme in LOADS]
    needed = prefer_fewer(before, DOMAINS, lambda each: float(changed(before, each)))
    assert changed(before, needed) == 0
