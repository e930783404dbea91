from __future__ import annotations

import pytest

from inference.agent.targets.x86_64 import expected
from inference.isa.x86.microarchitectures import microarchitecture
from inference.isa.x86.starter_set import STARTER_SET
from inference.isa.x86.textbook import documented_cpi

NAMED = ("Skylake", "Skylake-SP", "Ice Lake", "Ice Lake-SP", "Zen 2", "Zen 3", "Zen 4")


@pytest.mark.parametrize(
    ("vendor", "family", "model", "name", "ports", "r_max"),
    [
        ("GenuineIntel", 6, 0x2A, "Sandy Bridge", 6, 4),
        ("GenuineIntel", 6, 0x5E, "Skylake", 8, 4),
        ("GenuineIntel", 6, 0x55, "Skylake-SP", 8, 4),
        ("GenuineIntel", 6, 0x6A, "Ice Lake-SP", 10, 5),
        ("GenuineIntel", 6, 0x8F, "Golden Cove", 12, 6),
        ("AuthenticAMD", 0x17, 0x01, "Zen", 10, 5),
        ("AuthenticAMD", 0x17, 0x08, "Zen+", 10, 5),
        ("AuthenticAMD", 0x17, 0x31, "Zen 2", 11, None),
        ("AuthenticAMD", 0x19, 0x01, "Zen 3", 13, 6),
        ("AuthenticAMD", 0x19, 0x21, "Zen 3", 13, 6),
        ("AuthenticAMD", 0x19, 0x11, "Zen 4", 13, 6),
        ("AuthenticAMD", 0x19, 0x61, "Zen 4", 13, 6),
        ("AuthenticAMD", 0x1A, 0x44, "Zen 5", 13, 8),
    ],
)
def test_cores_are_known_by_their_numbers(vendor, family, model, name, ports, r_max):
    core = microarchitecture(vendor, family, model)
    assert core is not None
    assert (core.name, core.ports, core.r_max) == (name, ports, r_max)
    assert "Optimization" in core.source or "Agner Fog" in core.source


@pytest.mark.parametrize(
    ("vendor", "family", "model"), [("GenuineIntel", 15, 4), ("AuthenticAMD", 21, 2), ("somebody", 6, 0x5E)]
)
def test_other_cores_are_not_guessed(vendor, family, model):
    assert microarchitecture(vendor, family, model) is None


def test_no_core_starts_from_more_ports_than_the_evaluator_is_quick_with():
    for family in (6, 0x17, 0x19, 0x1A):
        for model in range(256):
            for vendor in ("GenuineIntel", "AuthenticAMD"):
                core = microarchitecture(vendor, family, model)
                assert core is None or 4 <= core.ports <= 13


@pytest.mark.parametrize("name", NAMED)
def test_textbook_times_are_of_starter_schemes_and_have_a_source(name):
    known = documented_cpi(name)
    assert known.keys() <= STARTER_SET
    assert len(known) >= 25
    for cycles, source in known.values():
        assert 0.16 < cycles <= 4
        assert "Agner Fog" in source


def test_textbook_times_differ_where_the_cores_do():
    shuffle, load, store = (
        "vpshufb YMM:W, YMM:R, YMM:R",
        "mov GPR[64]:W, MEM[64]:R",
        "mov MEM[64]:W, GPR[64]:R",
    )
    assert [documented_cpi(name)[shuffle][0] for name in ("Skylake", "Ice Lake", "Zen 3")] == [1, 0.5, 0.5]
    assert [documented_cpi(name)[load][0] for name in ("Skylake", "Zen 2", "Zen 3")] == [0.5, 0.5, 1 / 3]
    assert [documented_cpi(name)[store][0] for name in ("Skylake", "Zen 2", "Zen 3")] == [1, 1, 0.5]
    assert documented_cpi("Elbrus") == {}


@pytest.mark.parametrize(
    ("vendor", "family", "model"),
    [
        ("GenuineIntel", 6, 0x5E),
        ("GenuineIntel", 6, 0x55),
        ("GenuineIntel", 6, 0x6A),
        ("AuthenticAMD", 0x17, 0x31),
        ("AuthenticAMD", 0x19, 0x01),
        ("AuthenticAMD", 0x19, 0x61),
    ],
)
def test_the_agents_known_blocks_tell_the_same(vendor, family, model):
    core = microarchitecture(vendor, family, model)
    assert core is not None
    known, checks = documented_cpi(core.name), expected(vendor, family, model)
    assert known["add GPR[64]:RW, GPR[64]:R"][0] == checks["additions"]
    assert known["imul GPR[64]:RW, GPR[64]:R"][0] == checks["multiplications"]
    assert known["mov GPR[64]:W, MEM[64]:R"][0] == checks["loads"]
    assert known["vmulps YMM:W, YMM:R, YMM:R"][0] == checks["vector multiplications"]
