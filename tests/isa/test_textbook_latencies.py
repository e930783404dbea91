"""The table of documented latencies names schemes and pairs of operands that there are."""

from __future__ import annotations

import pytest

from inference.isa.chains import ChainLink
from inference.isa.targets import documented_latency
from inference.isa.x86.chains import links_of, pair_chains
from inference.isa.x86.microarchitectures import microarchitecture
from inference.isa.x86.scheme_set import scheme_and_form
from inference.isa.x86.textbook_latencies import (
    DOCUMENTED_CORES,
    documented_latencies,
    latency_source,
)


@pytest.mark.parametrize("core", DOCUMENTED_CORES)
def test_every_entry_is_a_pair_of_operands_that_a_chain_isolates(core: str) -> None:
    found = documented_latencies(core)
    assert len(found) >= 50
    for link, (least, most) in found.items():
        assert scheme_and_form(link.scheme) is not None, link
        assert link in links_of(link.scheme), link
        assert pair_chains(link).isolated, link
        assert 0 < least <= most, link


@pytest.mark.parametrize("core", DOCUMENTED_CORES)
def test_every_table_says_where_it_is_from(core: str) -> None:
    assert "uops.info" in latency_source(core)


def test_cores_are_called_as_a_computer_is_recognised() -> None:
    recognised = {
        microarchitecture("GenuineIntel", 6, 0x5E),
        microarchitecture("GenuineIntel", 6, 0x55),
        microarchitecture("GenuineIntel", 6, 0x7E),
        microarchitecture("GenuineIntel", 6, 0x6A),
        microarchitecture("GenuineIntel", 6, 0x8C),
        microarchitecture("GenuineIntel", 6, 0xA7),
        microarchitecture("GenuineIntel", 6, 0xCF),
        microarchitecture("GenuineIntel", 6, 0x97, "performance"),
        microarchitecture("AuthenticAMD", 0x17, 0x31),
        microarchitecture("AuthenticAMD", 0x19, 0x01),
        microarchitecture("AuthenticAMD", 0x19, 0x11),
    }
    assert {core.name for core in recognised if core is not None} == set(DOCUMENTED_CORES)


@pytest.mark.parametrize(
    ("core", "text", "source", "latency"),
    [
        ("Skylake", "imul GPR[64]:RW, GPR[64]:R", "2", (3, 3)),
        ("Skylake", "mov GPR[64]:W, MEM[64]:R", "2 address", (4, 5)),
        ("Ice Lake", "mov GPR[64]:W, MEM[64]:R", "2 address", (5, 5)),
        ("Raptor Cove", "vaddss XMM:W, XMM:R, XMM:R", "2", (2, 3)),
        ("Skylake", "vfmadd231ss XMM:RW, XMM:R, XMM:R", "3", (4, 4)),
        ("Zen 2", "vfmadd231ss XMM:RW, XMM:R, XMM:R", "1", (5, 5)),
        ("Zen 3", "vpshufb XMM:W, XMM:R, XMM:R", "2", (1, 1)),
        ("Zen 4", "vpshufb XMM:W, XMM:R, XMM:R", "2", (2, 2)),
    ],
)
def test_an_override_counts_for_its_core(
    core: str, text: str, source: str, latency: tuple[float, float]
) -> None:
    assert documented_latency(core, ChainLink(text, source, "1")) == latency


def test_what_is_not_documented_has_no_latency() -> None:
    link = ChainLink("add GPR[64]:RW, GPR[64]:R", "2", "flags")
    assert documented_latency("Zen 4", link) is None
    assert documented_latency("Zen 9", ChainLink(link.scheme, "2", "1")) is None
    assert latency_source("Zen 9") == ""
