"""Detects QEMU's user mode, which executes programs of another processor under this computer's kernel."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_KERNEL_MACHINE = Path("/proc/sys/kernel/arch")  # since Linux 6.1


def emulator(machine: str, processor: Mapping[str, str], kernel_machine: Path = _KERNEL_MACHINE) -> str:
    """The emulator that executes code of `machine`, which is not x86-64; "" for none.

    The kernel shows its own processors: /proc/cpuinfo then has entries of x86.
    """
    try:
        kernel = kernel_machine.read_text().strip()
    except OSError:
        kernel = machine
    if kernel != machine or "vendor_id" in processor or "QEMU" in processor.get("model name", ""):
        return "QEMU's user mode"
    return ""
