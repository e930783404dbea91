"""What every instruction set with a folder has to keep, facet by facet; a new one needs its folder alone."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from anica_app.core.block_domain import BlockDomain
from inference.isa import llvm_mc, targets
from inference.isa.blocks import (
    LOOP,
    BlockError,
    accesses_of,
    as_loop,
    att_of_bytes,
    block_of_bytes,
    block_of_hex,
    body_of,
    intel_of_bytes,
    iteration_of,
    read,
    read_blocks,
)
from inference.isa.bodies import obstacle_to_blocks
from inference.isa.machine_bodies import DEFAULTS
from inference.isa.operand_slots import FIRST_FLAG
from inference.isa.scheme import Scheme
from inference.isa.target import IsaTarget
from inference.isa.targets import X86, code_target, sampling_groups, target_of
from tests.check_scripts import check_script
from tests.isa.toy.target import TARGET as TOY

NAMES = [*(target.name for target in targets.targets()), TOY.name]
_SAMPLED = 25


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that the program has to know of an instruction set beside its folder."""
    monkeypatch.setitem(targets.FOLDERS, TOY.name, lambda: TOY)


@pytest.fixture(params=NAMES)
def target(request: pytest.FixtureRequest) -> IsaTarget:
    return target_of(request.param)


def sampled(target: IsaTarget) -> list[Scheme]:
    """Some schemes that can be measured, of all kinds."""
    schemes = [scheme for scheme in target.schemes.schemes() if scheme.starter and not scheme.exclusion]
    return schemes[:: max(len(schemes) // _SAMPLED, 1)]


def codes(target: IsaTarget) -> Iterator[tuple[str, bytes]]:
    """(scheme, code of some instances of it) of the sampled ones."""
    bodies = target.bodies
    if bodies is None:
        yield from ((scheme.text, bytes((1 + number, 0))) for number, scheme in enumerate(sampled(target)))
        return
    if bodies.needs_assembler and llvm_mc.program() is None:
        pytest.skip("llvm-mc is not installed")
    for scheme in sampled(target):
        yield scheme.text, bodies.unroll([(scheme.text, 1)], 4).code


def with_blocks(target: IsaTarget) -> None:
    if target.blocks is None:
        pytest.skip(f"{target.name} has no blocks")


def test_a_target_has_the_name_that_it_is_found_by(target: IsaTarget) -> None:
    assert target_of(target.name) is target


def test_schemes_are_found_by_their_texts(target: IsaTarget) -> None:
    catalogue = target.schemes
    schemes = catalogue.schemes()
    assert len({scheme.text for scheme in schemes}) == len(schemes) > 0
    for scheme in sampled(target):
        assert catalogue.scheme_of(scheme.text) == scheme
        assert (
            catalogue.missing_feature(scheme, {catalogue.flag(one) for one in scheme.extension.split("+")})
            == ""
        )
    assert catalogue.scheme_of("no such scheme") is None
    assert catalogue.core_of({}) is None
    assert catalogue.source().endswith(catalogue.version())
    for text in (
        *catalogue.probes,
        *catalogue.divisions,
        *catalogue.preferred,
        *catalogue.equivalent_schemes,
    ):
        assert catalogue.scheme_of(text) is not None, text


def test_bodies_are_copies_of_which_the_first_ones_are_a_body_too(target: IsaTarget) -> None:
    if target.bodies is None:
        pytest.skip(f"{target.name} has no loop bodies")
    around = target.bodies.machine_bodies([scheme.text for scheme in sampled(target)], None, DEFAULTS)
    assert around.frame.isa == target.name
    for text in target.bodies.padding:
        assert target.schemes.scheme_of(text) is not None
    if target.bodies.needs_assembler and llvm_mc.program() is None:
        pytest.skip("llvm-mc is not installed")
    for scheme in sampled(target):
        body = target.bodies.unroll([(scheme.text, 1)], 8)
        assert 0 < body.half_bytes < len(body.code)
        assert 0 < body.half_copies < body.copies
        assert len(body.listing) >= body.copies


def test_what_is_assembled_decodes_to_its_scheme(target: IsaTarget) -> None:
    with_blocks(target)
    for text, code in codes(target):
        block = block_of_bytes(code, target.name)
        assert block.isa == target.name
        assert {scheme for scheme, _ in block.terms} == {text}
        assert b"".join(one.code for one in block.instructions) == block.body == code


def test_texts_read_back_to_the_same_bytes(target: IsaTarget) -> None:
    with_blocks(target)
    for _, code in codes(target):
        for lines in (intel_of_bytes(code, target.name), att_of_bytes(code, target.name)):
            (block,) = read_blocks("\n".join(lines), 1, target.name)
            assert block.code == code
        assert block_of_hex(block.hex, target.name) == block


def test_loops_are_closed_by_what_is_no_instruction_of_theirs(target: IsaTarget) -> None:
    with_blocks(target)
    for _, code in codes(target):
        looped = as_loop(code, target.name)
        block = block_of_bytes(looped, target.name)
        assert block.kind == LOOP
        assert block.closing is not None
        assert looped.startswith(block.body)
        assert body_of(looped, target.name) == block.body
        assert read(block.text, 1, target.name).pieces[0].block == block


def test_what_is_no_code_is_refused(target: IsaTarget) -> None:
    if target.blocks is None:
        with pytest.raises(BlockError, match=f"blocks of {target.name} are not supported yet"):
            block_of_bytes(b"\x01\x00", target.name)
        return
    for code in (b"", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff"):
        with pytest.raises(BlockError):
            block_of_bytes(code, target.name)
    with pytest.raises(BlockError):
        read("there is no instruction here", 1, target.name)


def test_accesses_are_those_of_the_schemes(target: IsaTarget) -> None:
    if target.accesses is None:
        pytest.skip(f"the accesses of {target.name} are not known")
    for text, code in codes(target):
        block = block_of_bytes(code, target.name)
        accesses = accesses_of(block)
        assert {one.scheme for one in accesses} == {text}
        places = {access.location for one in accesses for access in (*one.reads, *one.writes)} - {""}
        assert all(target.accesses.name_of_location(place) for place in places)


def test_iterations_hold_the_body_of_the_block(target: IsaTarget) -> None:
    if target.frames is None:
        pytest.skip(f"blocks of {target.name} are not measured")
    for _, code in codes(target):
        assert iteration_of(block_of_bytes(code, target.name)).code == code
        loop = block_of_bytes(as_loop(code, target.name), target.name)
        assert iteration_of(loop).code.startswith(code)


def test_chains_go_along_their_links(target: IsaTarget) -> None:
    if target.chains is None:
        pytest.skip(f"there are no chains for {target.name}")
    if target.bodies is not None and target.bodies.needs_assembler and llvm_mc.program() is None:
        pytest.skip("llvm-mc is not installed")
    assert target.chains.links_of("no such scheme") == ()
    links = [link for scheme in sampled(target)[:5] for link in target.chains.links_of(scheme.text)]
    for link, pair in zip(links, target.chains.chains_of_pairs(links), strict=True):
        assert pair.link == link
        assert pair.chains or pair.why
        assert all(chain.links[0].scheme == link.scheme and chain.code for chain in pair.chains)


def test_front_end_codes_need_no_more_than_the_timer_gives(target: IsaTarget) -> None:
    if target.front_end is None:
        pytest.skip(f"no code shows front ends of {target.name}")
    for asked in target.front_end.front_end_codes(offsets=True)[::20]:
        assert len(target.front_end.fetched_instructions(asked.code.code)) >= asked.code.instructions > 0


def test_tools_get_an_instance_of_each_scheme(target: IsaTarget) -> None:
    if target.tools is None:
        pytest.skip(f"no tool takes {target.name}")
    if target.bodies is not None and target.bodies.needs_assembler and llvm_mc.program() is None:
        pytest.skip("llvm-mc is not installed")
    texts = [scheme.text for scheme in sampled(target)]
    instances = target.tools.instances([*texts, "no such scheme"])
    assert set(instances) == set(texts)
    assert all(instances.values())


def test_filled_operands_are_decoded_again(target: IsaTarget) -> None:
    operands = target.operands
    if operands is None:
        pytest.skip(f"no blocks of {target.name} are sampled")
    assert operands.block_scheme("no such scheme") is None
    found = [operands.block_scheme(scheme.text) for scheme in sampled(target)]
    members = [member for member in found if member is not None and not member.obstacle(frozenset())]
    assert members
    slots = {member.scheme.text: member.slots for member in members}
    filled = operands.filler(members)
    for number, member in enumerate(members):
        assert target.schemes.scheme_of(member.scheme.text) == member.scheme
        assert len(member.slots.places(0)) == len(member.slots.all)
        for slot in member.slots.registers:
            assert all(units and units & ~slot.possible == 0 for units in slot.units.values())
            assert all(family in slot.units for family in range(64) if slot.choices >> family & 1)
            assert slot.possible < 1 << FIRST_FLAG
        (filling,) = operands.independent_fillings([member])
        contents, code = filled(number, filling)
        assert list(operands.decode_operands(code, slots)) == [(member.scheme.text, contents, code)]
        assert list(operands.decode_operands(code, {})) == [None]
    assert set(operands.decode_operands(b"\xff\xff", slots)) == {None}


def test_sampled_blocks_are_read_from_their_code(target: IsaTarget) -> None:
    if target.operands is None:
        pytest.skip(f"no blocks of {target.name} are sampled")
    texts = [scheme.text for scheme in sampled(target)]
    domain = BlockDomain.of(among=texts, isa=target.name)
    random = Random(1)
    for _ in range(20):
        block = domain.sample(domain.unconstrained(3), random)
        assert block is not None
        assert domain.block_of_code(block.code) == block
        assert all(instruction.scheme for instruction in block_of_bytes(block.code, target.name).instructions)
        special = domain.represent(block)
        assert domain.contains(special, block)
        assert domain.read(domain.document(special)) == special
        again = domain.sample(special, random)
        assert again is None or domain.contains(special, again)


def test_an_instruction_set_without_a_folder_has_no_facets() -> None:
    target = target_of("a set from a file")
    facets = (target.blocks, target.bodies, target.chains, target.tools, target.operands)
    assert set(facets) == {None}
    assert target.schemes.schemes() == ()
    assert target.schemes.scheme_of("add") is None
    assert not target.names.meaning_of("add")
    assert "match the names of a mapping" in obstacle_to_blocks("a mapping", target.name)
    assert obstacle_to_blocks("a mapping", TOY.name) == ""
    assert code_target(target.name) is target_of(X86)  # what its machines execute
    assert code_target(TOY.name) is TOY


def test_a_new_instruction_set_is_read_from_its_folder() -> None:
    reading = read("inc a\nneg b\nback 6\n", 5, TOY.name)
    assert [(piece.block.kind, piece.block.text) for piece in reading.pieces] == [
        ("loop", ".loop:\ninc a\nneg b\nback 6")
    ]
    block = block_of_hex("0100 0201", TOY.name)
    assert block.terms == (("inc GPR[8]:RW", 1), ("neg GPR[8]:RW", 1))
    assert block.unused_registers == ("d", "c")
    with pytest.raises(BlockError, match="line 2, column 1: the toy has no 'mul'"):
        read("inc a\nmul b", 1, TOY.name)


def test_comparisons_with_the_name_of_an_instruction_set_are_found() -> None:
    """By the check that `make check` asks about all files."""
    check = check_script("isa-names")
    comparing = (
        'isa == "x86-64"',
        "name != X86",
        'machine in ("aarch64", "arm64")',
        "row.isa.name == targets.AARCH64",
        'rows.filter(isa__name="AArch64")',
        "machine in x86_64.MACHINES",
        "frame.isa != aarch64.ISA",
        'machine.startswith("x86")',
        'match isa:\n    case "x86-64" | None: pass',
    )
    others = ("target.ISA == isa", "target_of(X86)", 'print("x86-64")', "machine in target.MACHINES")
    assert [text for text in comparing if not list(check.comparisons(text))] == []
    assert [text for text in others if list(check.comparisons(text))] == []


def test_picks_of_an_instruction_set_are_found() -> None:
    check = check_script("isa-names")
    picking = (
        "from inference.isa.targets import X86",
        "from inference.isa.targets import AARCH64, target_of",
        'ISA.objects.filter(name="x86-64").first()',
        "ISA.objects.get(name=targets.X86)",
    )
    others = (
        "from inference.isa.targets import DEFAULT, target_of",
        "from inference.isa.targets import X86  # isa-name: the example was measured there",
        "ISA.objects.filter(name=isa)",
        'Scheme(name="x86-64")',
    )
    assert [text for text in picking if not list(check.picks(text))] == []
    assert [text for text in others if list(check.picks(text))] == []


def test_groups_of_schemes_are_those_of_their_targets() -> None:
    assert set(sampling_groups()) == {
        group for target in targets.targets() for group in target.sampling_groups
    }
    for target in targets.targets():
        if target.operands is not None:
            scheme = next(iter(target.operands.block_schemes().values()))
            scheme.obstacle(frozenset(target.sampling_groups))  # knows all of them
