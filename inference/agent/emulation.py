"""Detects QEMU's user mode, which executes programs of another processor under this computer's kernel."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_KERNEL_MACHINE = Path("/proc/sys/kernel/arch")  # since Linux 6.1


def emulator(machine: str, processor: Mapping[str, str], kernel_machine: Path = _KERNEL_MACHINE) -> str:
    """The emulator that executes this process; "" on a processor of the machine.

    Args:
        machine: Machine as `platform.machine()` names it; other than x86-64.
        processor: First entry of /proc/cpuinfo: the kernel shows its own processors, under emulation those of
            x86.
        kernel_machine: File with the machine of the kernel.
    """
    try:
        kernel = kernel_machine.read_text().strip()
    except OSError:
        kernel = machine
    if kernel != machine or "vendor_id" in processor or "QEMU" in processor.get("model name", ""):
        return "QEMU's user mode"
    return ""
