"""What makes a computer's measurements noisy, and the commands that reduce the noise.

The texts are in `noise_advice.toml`, by topic and severity.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from inference.agent.targets import TARGETS
from inference.isa.tables import table_of_module

Facts = Mapping[str, Any]
"""Facts that an agent reports of its computer; any may be missing or None where the agent cannot find out."""

QUIET_NOISE = 0.01
"""Median relative deviation of known blocks up to which a computer counts as quiet."""

_FEW_CORES = 2  # up to which other work on the computer gets in the way of any measurement
_BUSY_SHARE = 0.25
"""Share of the cores that other processes may use before it is mentioned."""

_TEXTS = table_of_module(__file__)


class Severity(StrEnum):
    """Urgency of an advice, the most urgent first."""

    CHANGE = "change"
    """it disturbs, and a command changes it"""
    MIND = "mind"
    """it may disturb, and no command on this computer changes it"""
    GOOD = "good"


@dataclass(frozen=True)
class Advice:
    """One cause of noise on a computer.

    Attributes:
        finding: Its current state.
        why: Its effect on measurements.
        command: What changes it on that computer, and `undo` what reverts that; both are empty where no
            command helps.
    """

    topic: str
    verdict: Severity
    finding: str
    why: str
    command: str = ""
    undo: str = ""


def advice_for(facts: Facts, noise: float | None = None) -> list[Advice]:
    """Advice from an agent's facts and the recent noise (a share), the most urgent first."""
    findings = [*(check(facts) for check in _CHECKS), _noise(facts, noise)]
    return sorted(filter(None, findings), key=lambda advice: list(Severity).index(advice.verdict))


def _advice(topic: str, verdict: Severity, **values: object) -> Advice:
    texts = {name: text.format(**values) for name, text in _TEXTS[topic][verdict].items()}
    return Advice(_TEXTS[topic]["topic"], verdict, **texts)


def _governor(facts: Facts) -> Advice | None:
    governor = facts.get("governor")
    if not governor:
        return None
    verdict = Severity.GOOD if governor == "performance" else Severity.CHANGE
    return _advice("governor", verdict, governor=governor, quoted_governor=shlex.quote(governor))


def _turbo(facts: Facts) -> Advice | None:
    turbo = facts.get("turbo")
    if turbo is None:
        return None
    intel = facts.get("vendor") == "GenuineIntel"
    switch = "intel_pstate/no_turbo" if intel else "cpufreq/boost"
    off, on = (1, 0) if intel else (0, 1)  # Intel's switch says "no turbo"
    return _advice("turbo", Severity.CHANGE if turbo else Severity.GOOD, off=off, on=on, switch=switch)


def _sibling_threads(facts: Facts) -> Advice | None:
    smt = facts.get("smt")
    if smt is None:
        return None
    alone = Severity.MIND if facts.get("virtual") else Severity.GOOD
    return _advice("threads", Severity.CHANGE if smt else alone)


def _virtual(facts: Facts) -> Advice | None:
    virtual = facts.get("virtual")
    if virtual is None:
        return None
    hypervisor = facts.get("hypervisor") or "an unknown hypervisor"
    return _advice("virtual", Severity.MIND if virtual else Severity.GOOD, hypervisor=hypervisor)


def _cores(facts: Facts) -> Advice | None:
    cores = facts.get("cores")
    if not cores or cores > _FEW_CORES:
        return None
    return _advice("cores", Severity.MIND, cores=_core_count(cores))


def _load(facts: Facts) -> Advice | None:
    load, cores = facts.get("load"), facts.get("cores")
    if load is None or not cores:
        return None
    verdict = Severity.GOOD if load <= max(1.0, _BUSY_SHARE * cores) else Severity.CHANGE
    return _advice("load", verdict, load=load, cores=_core_count(cores))


def _core_count(cores: int) -> str:
    return f"{cores} core{'' if cores == 1 else 's'}"


_CHECKS = (_sibling_threads, _load, _governor, _turbo, _virtual, _cores)


def _noise(facts: Facts, noise: float | None) -> Advice | None:
    if noise is None:
        return None
    core, cores = facts.get("core"), facts.get("cores") or 0
    verdict = Severity.CHANGE
    if noise <= QUIET_NOISE:
        verdict = Severity.GOOD
    elif core is None or cores <= _FEW_CORES or facts.get("virtual"):
        verdict = Severity.MIND
    return _advice("noise", verdict, noise=100 * noise, core=core)


def help_for_unfit(facts: Facts) -> str:
    """What would make a computer that cannot measure do so; "" where the facts do not show it."""
    system, machine = facts.get("system", "Linux"), facts.get("machine", "x86_64")
    if system != "Linux":
        return "Add a Linux computer under Machines, or learn from uploaded measurements here."
    if facts.get("emulated"):
        return "Start the agent on the real computer; --emulated runs code here, whose times mean nothing."
    if not any(machine in target.MACHINES for target in TARGETS):
        return "Add a computer with an x86-64, AArch64 or RISC-V processor under Machines."
    if "microsoft" in str(facts.get("kernel", "")).lower():
        return (
            "The Windows Subsystem for Linux shares its cores with Windows. Start Linux itself, such as "
            "from a USB stick, or add another computer under Machines."
        )
    return ""
