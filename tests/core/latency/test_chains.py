"""Which chains are measured for which pairs of operands, and what their code does."""

from __future__ import annotations

import pytest

from inference.core.latency import ChainReading, LatencyProblem, infer_latencies, read_pair
from inference.isa.blocks import block_of_bytes
from inference.isa.chains import ChainLink, DependencyChain, PairChains
from inference.isa.x86.chains import links_of, pair_chains
from inference.measuring.simulated_chains import SimulatedLatencies
from tests.core.latency.sampled_pairs import pairs


def test_pairs_are_those_of_the_definition() -> None:
    found = {(link.source, link.destination) for link in links_of("mul GPR[64]:R")}
    assert found == {
        *((source, target) for source in ("1", "rax") for target in ("rax", "rdx", "flags")),
    }
    assert {link.source for link in links_of("mov GPR[64]:W, MEM[64]:R")} == {"2 address", "2 data"}
    assert links_of("no such scheme") == ()


def test_a_pair_that_cannot_be_chained_says_why() -> None:
    (pair,) = [pair_chains(link) for link in links_of("fst MEM[32]:W") if link.source == "st0"][:1]
    assert pair.chains == ()
    assert "x87 stack" in pair.why
    result = infer_latencies(LatencyProblem([pair], []), SimulatedLatencies({}.__getitem__))
    assert result.pairs[0].why == pair.why


def test_chains_of_mmx_are_closed_by_a_shuffle() -> None:
    """Its other operands are written by a move: not every core breaks dependencies by pxor of these."""
    product = pair_chains(ChainLink("pmullw MM:RW, MM:R", "2", "1"))
    assert product.isolated
    assert [block_of_bytes(chain.code).text.splitlines() for chain in product.chains[:2]] == [
        ["movq mm1, r15", "pmullw mm1, mm0", "movq mm0, r15", "pmullw mm0, mm1"],
        ["movq mm1, r15", "pmullw mm1, mm0", "pshufw mm0, mm1, 0xE4"],
    ]
    moved = pair_chains(ChainLink("movq GPR[64]:W, MM:R", "2", "1"))
    assert not moved.isolated
    assert block_of_bytes(moved.chains[0].code).text.splitlines()[-1] == "movq mm0, r13"


@pytest.mark.parametrize(
    ("text", "source", "destination", "listing"),
    [
        ("fsqrt", "st0", "st0", ["fsqrt"]),
        ("fadd st0:RW, ST:R", "1", "1", ["fadd st, st(1)"]),
        ("fdiv MEM[64]:R", "st0", "st0", ["fdiv st, qword ptr [r14]"]),
        ("fadd ST:RW, st0:R", "2", "1", ["fadd st(1), st", "fxch"]),
        ("fmul ST:RW, st0:R", "2", "1", []),
        ("fxch st0:RW, ST:RW", "1", "2", []),
    ],
)
def test_chains_of_x87_leave_its_stack_where_it_is(
    text: str, source: str, destination: str, listing: list[str]
) -> None:
    pair = pair_chains(ChainLink(text, source, destination))
    assert pair.isolated == (len(listing) == 1)
    assert [block_of_bytes(chain.code).text.splitlines() for chain in pair.chains] == [listing] * bool(
        listing
    )
    assert bool(pair.why) != pair.isolated


def test_a_chain_makes_all_other_sources_ready() -> None:
    (adding,) = [one for one in pairs() if one.link == ChainLink("add GPR[64]:RW, GPR[64]:R", "2", "1")]
    listings = [block_of_bytes(chain.code).text.splitlines() for chain in adding.chains]
    assert ["mov edi, 1", "add rdi, rbx", "movsxd rbx, edi"] in listings


def test_a_scheme_whose_destination_is_a_source_takes_turns_with_itself() -> None:
    """No connector, and so no bypass, lies between a product and the multiplication that waits for it."""
    fused = "vfmadd231pd ZMM:RW, ZMM:R, ZMM:R"
    product, total = (pair_chains(ChainLink(fused, source, "1")) for source in ("2", "1"))
    assert product.chains[0].links == (product.link, product.link)
    assert block_of_bytes(product.chains[0].code).text.splitlines() == [
        *("vxorps xmm1, xmm1, xmm1", "vfmadd231pd zmm1, zmm0, zmm2"),
        *("vxorps xmm0, xmm0, xmm0", "vfmadd231pd zmm0, zmm1, zmm2"),
    ]
    assert total.chains[0].links == (total.link,)
    lead, logical = product.chains[1].closing_links[0], product.chains[-1].closing_links[0]
    cycles = [8.0, 7.0, 9.0, 7.0, 9.0]  # each connector costs two cycles more where it begins
    readings = [ChainReading(one, each) for one, each in zip(product.chains, cycles, strict=True)]
    found = read_pair(product, readings, {lead: 1.0, logical: 1.0})
    assert (found.least, found.most) == pytest.approx((4.0, 6.0))
    high = links_of("add GPR[8h]:RW, GPR[8]:R")
    mixed = next(pair_chains(one) for one in high if (one.source, one.destination) == ("2", "1"))
    assert all(chain.links.count(mixed.link) == 1 for chain in mixed.chains)  # bl is not what dh is


def test_memory_that_is_read_and_written_is_made_ready_by_a_constant() -> None:
    by_name = {(link.source, link.destination): link for link in links_of("add MEM[64]:RW, GPR[64]:R")}
    pair = pair_chains(by_name["2", "1 data"])
    assert block_of_bytes(pair.chains[0].code).text.splitlines()[:2] == [
        "mov qword ptr [r14], 1",
        "add qword ptr [r14], rbx",
    ]
    itself = pair_chains(by_name["1 data", "1 data"])
    assert block_of_bytes(itself.chains[0].code).text.splitlines() == ["add qword ptr [r14], r8"]
    address = pair_chains(by_name["1 address", "1 data"])
    assert not address.isolated
    assert block_of_bytes(address.chains[0].code).text.splitlines() == [
        *("mov qword ptr [r14], 1", "add qword ptr [rbx], r8", "mov r13, qword ptr [rbx]"),
        *("xor rbx, r13", "xor rbx, r13"),
    ]
    (high,) = [one for one in links_of("add MEM[8]:RW, GPR[8h]:R") if one.source == "1 address"][:1]
    assert pair_chains(high).why == "what makes its memory ready waits for the address as well"


def test_what_changes_memory_takes_as_long_as_with_room_behind_it() -> None:
    link = ChainLink("or MEM[8]:RW, IMM[8]:R", "1 data", "1 data")
    pair = pair_chains(link)
    codes = [block_of_bytes(chain.code).instructions for chain in pair.chains]
    listed = [[one.text.split()[0] for one in code] for code in codes]
    assert listed == [["or"], ["or", *["nop"] * 10]]
    taken = zip(pair.chains, (7.2, 6.2), strict=True)
    found = read_pair(pair, [ChainReading(chain, cycles) for chain, cycles in taken], {})
    assert (found.least, found.most) == (6.2, 7.2)


def test_flags_of_what_stores_are_a_bound() -> None:
    links = links_of("adc MEM[64]:RW, GPR[64]:R")
    (flags,) = [link for link in links if (link.source, link.destination) == ("flags", "flags")]
    pair = pair_chains(flags)
    assert pair.chains
    assert not pair.isolated


def test_a_bound_is_never_less_than_nothing() -> None:
    link = ChainLink("mov GPR[64]:W, MEM[64]:R", "2 data", "1")
    chain = DependencyChain(b"\x90", (link, ChainLink("mov MEM[64]:W, GPR[64]:R", "2", "1 data")))
    found = read_pair(PairChains(link, (chain,), isolated=False, why="a sum"), [ChainReading(chain, 0.1)], {})
    assert found.at_most == 0
