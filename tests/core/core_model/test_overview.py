"""What each port of a core runs, in kinds of instructions."""

from __future__ import annotations

from inference.core.core_model import (
    CoreModel,
    FrontEndLimits,
    KindCompetition,
    core_overview,
    kind_competition,
)
from inference.core.core_model.overview import unit_port_names
from inference.core.mapping import PortMapping

MAPPING = PortMapping(
    ("0", "1", "2"),
    {
        "add": ((0b011, 1),),
        "sub": ((0b011, 1),),
        "odd": ((0b001, 1),),
        "mul": ((0b001, 1), (0b011, 2)),
        "store": ((0b001, 1), (0b110, 1)),
        "nop": (),
        "other": ((0b100, 1),),
    },
    r_max=5.0,
)
KINDS = {
    "add": "ALU",
    "sub": "ALU",
    "odd": "ALU",
    "mul": "multiply",
    "store": "store",
    "nop": "nop",
    "gone": "ALU",
}
LATENCIES = {
    "add": {("1", "1"): 1.0},
    "odd": {("1", "1"): 3.0},
    "mul": {("2", "1"): 4.0, ("1", "flags"): 5.0},
}


def test_a_port_runs_the_kinds_whose_most_narrow_uops_it_executes() -> None:
    core = core_overview(
        CoreModel(MAPPING, LATENCIES, front_end=FrontEndLimits(slots=6.0)),
        KINDS,
        ("ALU", "multiply", "store", "nop"),
        ("store",),
    )
    shown = {port.name: [(one.kind.name, one.schemes, one.most) for one in port.kinds] for port in core.ports}
    assert shown == {
        "0": [("ALU", 3, True), ("multiply", 1, True), ("store", 1, True)],
        "1": [("ALU", 2, True), ("store", 1, True)],
        "2": [("store", 1, True)],
    }
    assert [port.schemes for port in core.ports] == [5, 4, 2]
    alu, multiply, store, nop = core.kinds
    assert (alu.schemes, alu.ports, alu.cycles, alu.latencies) == (3, ("0", "1"), 0.5, (1.0, 3.0))
    assert (multiply.ports, multiply.latencies) == (("0",), (4.0, 4.0))
    assert store.ports == ("0", "1", "2")
    assert (nop.ports, nop.latencies) == ((), None)
    assert (core.instructions, core.slots) == (5.0, None)


def test_a_port_that_few_schemes_of_a_kind_can_use_is_no_unit_of_it() -> None:
    few = PortMapping(("0", "1"), {"a": ((1, 1),), "b": ((1, 1),), "c": ((3, 1),)})
    core = core_overview(CoreModel(few), dict.fromkeys("abc", "shift"), ("shift",), ())
    assert core.kinds[0].ports == ("0",)
    assert [[one.most for one in port.kinds] for port in core.ports] == [[True], [False]]


def test_without_ports_nothing_runs_anywhere() -> None:
    limits = FrontEndLimits(slots=4.0)
    core = core_overview(CoreModel(front_end=limits), KINDS, ("ALU",), ())
    assert (core.ports, core.kinds, core.front_end) == ((), (), limits)


def test_ports_without_schemes_and_eliminated_moves_are_no_units():
    mapping = PortMapping(("0", "1", "2"), {"add": ((0b001, 1),), "mov": ((0b011, 1),)})
    overview = core_overview(
        CoreModel(mapping, moves=frozenset({"mov"})), {"add": "ALU", "mov": "move"}, ("ALU", "move"), ()
    )
    assert [(port.name, port.place) for port in overview.ports] == [("0", 0)]
    assert overview.idle == ("1", "2")
    assert [kind.ports for kind in overview.kinds] == [("0",), ()]


GROUPS = {"ALU": "ALU", "multiply": "ALU", "FMA": "FP", "load": "LD", "store": "ST", "branch": "BR"}


def names(ports: int, **uses: tuple[str, int]) -> list[str]:
    """The names of ports; `uses`: {scheme: (kind, mask)}."""
    usage = {scheme: ((mask, 1),) if mask else () for scheme, (_, mask) in uses.items()}
    kinds = {scheme: kind for scheme, (kind, _) in uses.items()}
    mapping = PortMapping(tuple(f"{port}′" for port in range(ports)), usage)
    found = unit_port_names(mapping, kinds, GROUPS, ("store",))
    assert list(found) == list(mapping.ports)
    assert len({*found.values()}) == ports, "names are distinct"
    return list(found.values())


def test_ports_are_named_after_the_units_that_they_have() -> None:
    assert names(
        8,
        add=("ALU", 0b000011),
        mul=("multiply", 0b000010),
        fma=("FMA", 0b000110),
        jne=("branch", 0b1000001),
        load=("load", 0b011000),
        store=("store", 0b101000),
    ) == ["ALU0", "ALU/FP0", "FP0", "LD/ST0", "LD0", "ST0", "BR0", "P0"]  # fmt: skip


def test_a_stray_scheme_does_not_name_a_port() -> None:
    strays = {f"add{k}": ("ALU", 0b01) for k in range(4)}
    assert names(2, **strays, odd=("ALU", 0b11), fma=("FMA", 0b10)) == ["ALU0", "FP0"]
    assert names(2, **strays, odd=("ALU", 0b11)) == ["ALU0", "ALU1"], "unless nothing else runs there"


def test_ports_have_names_without_anything_that_tells_them_apart() -> None:
    assert names(2) == ["P0", "P1"]
    assert names(2, nothing=("ALU", 0), other=("", 0b10)) == ["P0", "P1"]


def competition_of(usage: dict, moves: frozenset[str] = frozenset()) -> KindCompetition:
    mapping = PortMapping(("0", "1", "2", "3"), usage)
    return kind_competition(
        core_overview(
            CoreModel(mapping, moves=moves), {name: name for name in usage}, tuple(usage), ("store",)
        )
    )


def test_kinds_compete_for_the_ports_that_they_share() -> None:
    found = competition_of(
        {
            "add": ((0b0111, 1),),
            "shift": ((0b0110, 1),),
            "multiply": ((0b0010, 1),),
            "sub": ((0b0111, 1),),
            "load": ((0b1000, 1),),
            "add of memory": ((0b0111, 1), (0b1000, 1)),
        }
    )
    assert [group.names for group in found.groups] == [
        ("add", "sub"),
        ("shift",),
        ("multiply",),
        ("load", "add of memory"),
    ]
    together = {
        (pair.first.names[0], pair.second.names[0]): (pair.shared, round(pair.together, 3))
        for pair in found.strongest
    }
    assert together == {
        ("shift", "add"): (("1", "2"), 1.667),
        ("multiply", "shift"): (("1",), 1.5),
        ("multiply", "add"): (("1",), 1.333),
    }


def test_work_of_several_uops_competes_as_a_whole() -> None:
    found = competition_of(
        {"store": ((0b0001, 1), (0b0110, 3)), "add": ((0b0111, 1),), "load": ((0b0001, 2),)}
    )
    for row, names in zip(found.pairs, found.groups, strict=True):
        for pair in row:
            assert 1 <= pair.together <= 2
            assert pair.first == names
            mirrored = found.pairs[found.groups.index(pair.second)][found.groups.index(pair.first)]
            assert (pair.together, pair.shared) == (mirrored.together, mirrored.shared)
    assert all(found.pairs[place][place].together == 2 for place in range(len(found.groups)))


def test_what_needs_no_port_competes_with_nothing() -> None:
    usage = {"add": ((0b1, 1),), "nop": (), "move": ((0b1, 1),)}
    assert [group.names for group in competition_of(usage, frozenset(["move"])).groups] == [("add",)]
    assert competition_of({}).strongest == []
