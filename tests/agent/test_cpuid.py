"""What the processor itself says, against what Linux makes of it."""

from __future__ import annotations

from inference.agent.cpuid import REPORTED_FLAGS, flags, flags_of
from inference.agent.facts import facts
from inference.isa.microarchitecture import flags_of as merged
from inference.isa.scheme import BREAKABLE, SELECTABLE
from inference.isa.x86 import schemes
from inference.isa.x86.availability import flag
from tests.agent.conftest import needs_x86

ALL = 0xFFFFFFFF


@needs_x86
def test_linux_lists_no_flag_that_the_processor_does_not_tell():
    told = flags()
    assert told is not None
    listed = set(facts(None)["flags"])
    assert not listed & REPORTED_FLAGS - set(told)
    assert {"sse2", "cmov"} <= set(told)
    assert facts(None)["cpuid"] == told


def test_every_extension_that_can_be_measured_is_told_about():
    able = [scheme for scheme in schemes() if scheme.exclusion.startswith((*SELECTABLE, *BREAKABLE))]
    able += [scheme for scheme in schemes() if not scheme.exclusion]
    needed = {flag(name) for scheme in able for name in scheme.extension.split("+")}
    assert needed - {""} <= REPORTED_FLAGS


def test_leaves_that_a_processor_does_not_have_are_not_believed():
    """Beyond the highest one, CPUID answers with whatever it likes."""
    old = flags_of(
        lambda leaf, _: (1 if leaf == 0 else 0x80000001 if leaf == 0x80000000 else ALL, ALL, ALL, ALL), 7
    )
    assert {"sse2", "avx", "abm"} <= old
    assert not old & {"bmi1", "avx2", "clzero"}


def test_registers_that_the_system_has_not_switched_on_do_not_count():
    def everything(leaf: int, _subleaf: int) -> tuple[int, int, int, int]:
        return (0x80000008 if leaf == 0x80000000 else ALL, ALL, ALL, ALL)

    assert flags_of(everything, 0xE7) == REPORTED_FLAGS
    without = flags_of(everything, 0x7)
    assert "avx2" in without
    assert not any(name.startswith("avx512") for name in without)
    assert "bmi2" in flags_of(everything, 0)
    assert "avx" not in flags_of(everything, 0)


def test_the_flags_of_a_machine_are_those_of_both():
    assert merged({"flags": ["fpu", "avx"], "cpuid": ["avx", "avx_vnni"]}) == {"fpu", "avx", "avx_vnni"}
    assert merged({"flags": ["fpu"], "cpuid": None}) == {"fpu"}
    assert merged({}) is None
