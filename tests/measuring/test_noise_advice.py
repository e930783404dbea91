"""Advice for making a computer quiet."""

from __future__ import annotations

from typing import Any

import pytest

from inference.measuring.noise_advice import QUIET_NOISE, Advice, Severity, advice_for, help_for_unfit

QUIET: dict[str, Any] = {
    "vendor": "AuthenticAMD",
    "cores": 16,
    "core": 15,
    "virtual": False,
    "hypervisor": "Dell Inc.",
    "governor": "performance",
    "turbo": False,
    "smt": False,
    "load": 0.2,
}


def about(topic: str, noise: float | None = None, **changed: Any) -> Advice:
    (found,) = [each for each in advice_for({**QUIET, **changed}, noise) if each.topic == topic]
    return found


def test_a_quiet_computer_has_nothing_to_change_and_is_told_so():
    found = advice_for(QUIET, 0.002)
    assert {each.verdict for each in found} == {Severity.GOOD}
    assert not any(each.command or each.undo for each in found)
    assert len(found) == 6


def test_nothing_is_said_of_what_is_not_known():
    assert advice_for({}) == []
    unknown = {"governor": None, "turbo": None, "smt": None, "virtual": None, "load": None, "cores": None}
    assert advice_for(unknown) == []


def test_another_governor_is_replaced_and_can_be_put_back():
    found = about("Frequency governor", governor="powersave")
    assert found.verdict == Severity.CHANGE
    assert found.command.startswith("echo performance | sudo tee /sys/devices/system/cpu/cpu*/")
    assert found.undo.startswith("echo powersave | ")


@pytest.mark.parametrize(
    ("vendor", "off", "switch"),
    [("GenuineIntel", "echo 1", "intel_pstate/no_turbo"), ("AuthenticAMD", "echo 0", "cpufreq/boost")],
)
def test_turbo_is_switched_off_where_the_vendors_driver_has_the_switch(vendor: str, off: str, switch: str):
    found = about("Turbo", turbo=True, vendor=vendor)
    assert found.command.startswith(off)
    assert found.command.endswith(switch)
    assert found.undo.endswith(switch)
    assert found.undo != found.command


def test_sibling_threads_are_switched_off():
    found = about("Simultaneous multithreading", smt=True)
    assert (found.verdict, found.command) == (
        Severity.CHANGE,
        "echo off | sudo tee /sys/devices/system/cpu/smt/control",
    )


def test_a_virtual_machine_is_named_with_its_host_and_has_no_command():
    found = about("Virtual machine", virtual=True, hypervisor="KVM")
    assert found.verdict == Severity.MIND
    assert "KVM" in found.finding
    assert not found.command
    assert "Dell" not in about("Virtual machine").finding


def test_few_cores_are_worth_a_word():
    assert about("Cores", cores=2).finding == "2 cores"
    assert not [each for each in advice_for(QUIET) if each.topic == "Cores"]


@pytest.mark.parametrize(
    ("load", "cores", "verdict"),
    [
        (0.9, 2, Severity.GOOD),
        (1.4, 2, Severity.CHANGE),
        (3.9, 16, Severity.GOOD),
        (4.2, 16, Severity.CHANGE),
    ],
)
def test_load_counts_in_proportion_to_the_cores(load: float, cores: int, verdict: Severity):
    found = about("Load", load=load, cores=cores)
    assert found.verdict == verdict
    assert bool(found.command) == (verdict == Severity.CHANGE)


def test_noise_leads_to_an_isolated_core_only_where_that_can_help():
    assert about("Noise", QUIET_NOISE).verdict == Severity.GOOD
    noisy = about("Noise", 0.2)
    assert noisy.command.startswith("isolcpus=15 ")
    assert "20.0 %" in noisy.finding
    assert not about("Noise", 0.2, virtual=True).command
    assert not about("Noise", 0.2, cores=2, core=1).command
    assert not about("Noise", 0.2, core=None).command


def test_the_most_urgent_comes_first():
    found = advice_for({**QUIET, "turbo": True, "virtual": True}, 0.001)
    assert [each.verdict for each in found[:2]] == [Severity.CHANGE, Severity.MIND]
    assert found[-1].verdict == Severity.GOOD


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"system": "Darwin", "machine": "arm64"}, "Linux computer"),
        ({"system": "Linux", "machine": "ppc64"}, "x86-64, AArch64 or RISC-V"),
        ({"system": "Linux", "machine": "aarch64", "emulated": "QEMU's user mode"}, "real computer"),
        (
            {"system": "Linux", "machine": "x86_64", "kernel": "Linux 5.15-microsoft-WSL2"},
            "Windows Subsystem",
        ),
    ],
)
def test_a_computer_that_cannot_measure_is_told_what_would_help(facts: dict[str, str], words: str):
    assert words in help_for_unfit(facts)


def test_where_the_facts_do_not_tell_no_help_is_made_up():
    assert help_for_unfit({"system": "Linux", "machine": "x86_64", "kernel": "Linux 6.1"}) == ""


def test_a_guest_cannot_know_who_uses_the_sibling_thread():
    found = about("Simultaneous multithreading", smt=False, virtual=True)
    assert found.verdict == Severity.MIND
    assert "another guest on the sibling thread" in found.why
    assert about("Simultaneous multithreading", smt=False, virtual=False).verdict == Severity.GOOD


def test_what_an_agent_calls_its_governor_is_no_command():
    assert about("Frequency governor", governor="x; reboot").undo.startswith("echo 'x; reboot' | ")
