"""What kind of computer this is, as far as an ordinary user can see."""

from __future__ import annotations

import os
import platform
import socket
from pathlib import Path

from inference.agent.protocol import Json

_CPUS = Path("/sys/devices/system/cpu")


def facts(core: int | None) -> Json:
    """The computer in JSON; what is not known is null. `core`: the one that measures.

    `unfit` says why this computer cannot measure at all, and is empty where it can.
    """
    processor = _processor(Path("/proc/cpuinfo"))
    flags = processor.get("flags", "").split()
    return {
        "host": socket.gethostname(),
        "system": platform.system(),
        "machine": platform.machine(),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "cpu": " ".join(processor.get("model name", platform.processor() or "unknown").split()),
        "vendor": processor.get("vendor_id", ""),
        "family": _number(processor.get("cpu family")),
        "model": _number(processor.get("model")),
        "stepping": _number(processor.get("stepping")),
        "microcode": processor.get("microcode"),
        "flags": flags,
        "cores": os.cpu_count(),
        "core": core,
        "virtual": "hypervisor" in flags if flags else None,
        "hypervisor": _hypervisor() if "hypervisor" in flags else None,
        "governor": _text(_CPUS / f"cpu{core or 0}/cpufreq/scaling_governor"),
        "turbo": _turbo(),
        "smt": _truth(_text(_CPUS / "smt/active")),
        "siblings": _text(_CPUS / f"cpu{core or 0}/topology/thread_siblings_list"),
        "load": _load(),
        "counters": "none",
        "unfit": unfit(platform.system(), platform.machine()),
    }


def unfit(system: str, machine: str) -> str:
    """Why nothing can be measured on such a system."""
    if system != "Linux":
        return f"measuring needs Linux; this is {system}"
    if machine not in {"x86_64", "AMD64"}:
        return f"measuring needs an x86-64 processor; this is {machine}"
    return ""


def choose_core(wanted: int | None = None) -> int | None:
    """The processor to measure on: the wanted one, an isolated one, or the last that this process may use.

    Raises `ValueError` for one that it may not use; None where processes cannot be bound to one.
    """
    if not hasattr(os, "sched_getaffinity"):
        return None
    allowed = os.sched_getaffinity(0)
    if wanted is not None:
        if wanted not in allowed:
            raise ValueError(f"processor {wanted} is not among those to be used here: {sorted(allowed)}")
        return wanted
    isolated = allowed & _list_of(_text(_CPUS / "isolated") or "")
    return max(isolated or allowed)


def _processor(file: Path) -> dict[str, str]:
    """The first processor that the kernel describes."""
    try:
        text = file.read_text()
    except OSError:
        return {}
    lines = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, _, value in lines}


def _text(file: Path) -> str | None:
    try:
        return file.read_text().strip() or None
    except OSError:
        return None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _truth(text: str | None) -> bool | None:
    return None if text not in {"0", "1"} else text == "1"


def _turbo() -> bool | None:
    no_turbo = _truth(_text(_CPUS / "intel_pstate/no_turbo"))
    return _truth(_text(_CPUS / "cpufreq/boost")) if no_turbo is None else not no_turbo


def _hypervisor() -> str | None:
    """Xen says its name; of others the maker of the pretended computer is what there is."""
    return _text(Path("/sys/hypervisor/type")) or _text(Path("/sys/class/dmi/id/sys_vendor"))


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _list_of(text: str) -> set[int]:
    """The numbers of a kernel list such as "2-5,8"."""
    numbers: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers
