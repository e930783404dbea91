"""What keeps a computer from measuring well, and what to type against it (MEASUREMENT: what did not hold)."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from inference.agent.targets import TARGETS

Facts = Mapping[str, Any]
"""What an agent says of its computer; anything may be missing or None where it cannot tell."""

QUIET_NOISE = 0.01
"""Median relative deviation of known blocks up to which a computer counts as quiet."""

_FEW_CORES = 2
_BUSY_SHARE = 0.25
"""Of the cores that others may keep busy before it is worth a word."""

_CPUS = "/sys/devices/system/cpu"


class Severity(StrEnum):
    """How something bears on measuring, the most urgent first."""

    CHANGE = "change"
    """it disturbs, and a command changes it"""
    MIND = "mind"
    """it may disturb, and no command on this computer changes it"""
    GOOD = "good"


@dataclass(frozen=True)
class Advice:
    """One thing that bears on how quiet a computer is.

    `finding` is how it stands, `why` what that does to measurements, `command` what to type on that computer
    and `undo` what takes it back; both are empty where there is nothing to type.
    """

    topic: str
    verdict: Severity
    finding: str
    why: str
    command: str = ""
    undo: str = ""


def advice_for(facts: Facts, noise: float | None = None) -> list[Advice]:
    """Everything that the facts and the recent noise (a fraction) tell, the most urgent first."""
    found = [*(look(facts) for look in _LOOKS), _noise(facts, noise)]
    told = [advice for advice in found if advice is not None]
    return sorted(told, key=lambda advice: list(Severity).index(advice.verdict))


def _governor(facts: Facts) -> Advice | None:
    governor = facts.get("governor")
    if not governor:
        return None
    topic, finding = "Frequency governor", f"set to {governor}"
    if governor == "performance":
        return Advice(topic, Severity.GOOD, finding, "The clock does not fall when the core idles.")
    switch = f"sudo tee {_CPUS}/cpu*/cpufreq/scaling_governor"
    return Advice(
        topic,
        Severity.CHANGE,
        finding,
        "The clock falls whenever the core idles, and climbs again in the middle of a sample.",
        f"echo performance | {switch}",
        f"echo {shlex.quote(governor)} | {switch}",
    )


def _turbo(facts: Facts) -> Advice | None:
    turbo = facts.get("turbo")
    if turbo is None:
        return None
    if not turbo:
        why = "The clock does not depend on temperature or on the other cores."
        return Advice("Turbo", Severity.GOOD, "off", why)
    intel = facts.get("vendor") == "GenuineIntel"
    switch = f"sudo tee {_CPUS}/{'intel_pstate/no_turbo' if intel else 'cpufreq/boost'}"
    off, on = (1, 0) if intel else (0, 1)  # Intel's switch says "no turbo"
    return Advice(
        "Turbo",
        Severity.CHANGE,
        "on",
        "The clock depends on temperature and on what the other cores do.",
        f"echo {off} | {switch}",
        f"echo {on} | {switch}",
    )


def _sibling_threads(facts: Facts) -> Advice | None:
    smt = facts.get("smt")
    if smt is None:
        return None
    topic = "Simultaneous multithreading"
    if not smt and facts.get("virtual"):
        return Advice(
            topic,
            Severity.MIND,
            "none that this guest can see",
            "The host may run another guest on the sibling thread of the measured core, which uses the very "
            "ports that are measured. Only the host can tell, and prevent it.",
        )
    if not smt:
        return Advice(topic, Severity.GOOD, "off", "Nobody else uses the ports of the measured core.")
    control = f"sudo tee {_CPUS}/smt/control"
    return Advice(
        topic,
        Severity.CHANGE,
        "on",
        "What runs on the sibling thread uses the very ports that are measured: up to 60 % slower.",
        f"echo off | {control}",
        f"echo on | {control}",
    )


def _virtual(facts: Facts) -> Advice | None:
    virtual = facts.get("virtual")
    if virtual is None:
        return None
    if not virtual:
        why = "Nobody outside this system shares its cores."
        return Advice("Virtual machine", Severity.GOOD, "no", why)
    return Advice(
        "Virtual machine",
        Severity.MIND,
        f"yes, under {facts.get('hypervisor') or 'an unknown hypervisor'}",
        "Other guests share its cores, caches and power; clock and sibling threads are the host's affair. "
        "Measure on the bare machine where you can, else at a quiet hour or on a dedicated host.",
    )


def _cores(facts: Facts) -> Advice | None:
    cores = facts.get("cores")
    if not cores or cores > _FEW_CORES:
        return None
    return Advice(
        "Cores",
        Severity.MIND,
        _in_words(cores),
        "Every other program has to share them with the measurement, and the search of a run does too. Leave "
        "the computer alone while it measures.",
    )


def _load(facts: Facts) -> Advice | None:
    load, cores = facts.get("load"), facts.get("cores")
    if load is None or not cores:
        return None
    finding = f"{load:.1f} on {_in_words(cores)} when the agent connected"
    if load <= max(1.0, _BUSY_SHARE * cores):
        return Advice("Load", Severity.GOOD, finding, "Little else was running.")
    return Advice(
        "Load",
        Severity.CHANGE,
        finding,
        "Other programs take turns on the core and empty its caches. See which, and end what can wait.",
        "ps -eo pcpu,pid,comm --sort=-pcpu | head",
    )


def _in_words(cores: int) -> str:
    return f"{cores} core{'' if cores == 1 else 's'}"


_LOOKS: tuple[Callable[[Facts], Advice | None], ...] = (
    _sibling_threads,
    _load,
    _governor,
    _turbo,
    _virtual,
    _cores,
)


def _noise(facts: Facts, noise: float | None) -> Advice | None:
    if noise is None:
        return None
    finding = f"known blocks deviate by {100 * noise:.1f} %"
    if noise <= QUIET_NOISE:
        return Advice("Noise", Severity.GOOD, finding, "This computer measures well.")
    core, cores = facts.get("core"), facts.get("cores") or 0
    if core is None or cores <= _FEW_CORES or facts.get("virtual"):
        why = "Something disturbs the measured core: see the other points."
        return Advice("Noise", Severity.MIND, finding, why)
    return Advice(
        "Noise",
        Severity.CHANGE,
        finding,
        f"If the other points do not help, reserve core {core} for measuring: put this on the kernel's "
        "command line (in /etc/default/grub, then sudo update-grub) and restart.",
        f"isolcpus={core} nohz_full={core} rcu_nocbs={core}",
    )


def help_for_unfit(facts: Facts) -> str:
    """What would let a computer that cannot measure do so; "" where the facts do not tell."""
    system, machine = facts.get("system", "Linux"), facts.get("machine", "x86_64")
    if system != "Linux":
        return "Add a Linux computer under Machines, or learn from uploaded measurements here."
    if facts.get("emulated"):
        return "Start the agent on the real computer; --emulated runs code here, whose times mean nothing."
    if not any(machine in target.MACHINES for target in TARGETS):
        return "Add a computer with an x86-64 or AArch64 processor under Machines."
    if "microsoft" in str(facts.get("kernel", "")).lower():
        return (
            "The Windows Subsystem for Linux shares its cores with Windows. Start Linux itself, such as "
            "from a USB stick, or add another computer under Machines."
        )
    return ""
