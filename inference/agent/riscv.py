"""Identifies RISC-V processors by /proc/cpuinfo, and their extensions by the kernel's `riscv_hwprobe`."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping

from inference.agent.reading import Json
from inference.sandbox import kernel
from inference.sandbox.system_calls import number_of

_VENDORS = {
    0x29: "Microchip",
    0x31E: "Andes",
    0x489: "SiFive",
    0x5B7: "T-Head",
    0x61F: "Ventana",
    0x710: "SpacemiT",
}
"""JEDEC's numbers in mvendorid."""

_CORES = {
    ("SiFive", 0x8000000000000007): "U74", ("SiFive", 0x8000000000000008): "P550",
    ("SpacemiT", 0x8000000058000001): "X60",
}  # fmt: skip
"""{(vendor, marchid): name}."""

EMULATED_FEATURES = ("i", "m", "a", "f", "d", "c", "zba", "zbb", "zbs")
"""Extensions that QEMU's user mode has by default."""

_IMPLIED = {"g": ("i", "m", "a", "f", "d"), "b": ("zba", "zbb", "zbs")}
_SINGLE = re.compile(r"rv64([a-z]*)", re.ASCII)
_PROBED_BITS = {
    0: ("f", "d"), 1: ("c",), 2: ("v",), 3: ("zba",), 4: ("zbb",), 5: ("zbs",), 27: ("zfh",), 35: ("zicond",),
}  # fmt: skip
"""{bit of the key for extensions in asm/hwprobe.h: their names}."""

_EXTENSIONS_KEY = 4

Probe = Callable[[int], int | None]
"""The value of a key of `riscv_hwprobe`; None where the kernel knows neither call nor key."""


class _Pair(ctypes.Structure):
    _fields_ = (("key", ctypes.c_int64), ("value", ctypes.c_uint64))


def probed(key: int) -> int | None:
    """What all processors of this computer have in common (Linux 6.4)."""
    number = number_of("riscv_hwprobe")
    if number is None:
        return None
    pair = _Pair(key, 0)
    all_processors = (0, None, 0)  # count of a set, the set, flags
    try:
        kernel.system_call(number, ctypes.byref(pair), 1, *all_processors)
    except OSError:
        return None
    return pair.value if pair.key == key else None


def extensions(isa: str, bits: int | None) -> list[str]:
    """The names of extensions in small letters, in alphabetical order.

    Args:
        isa: The line of /proc/cpuinfo, as in `rv64imafdc_zicsr_zba`; kernels before 6.0 omit all names of
            several letters.
        bits: The kernel's bits of extensions, None where it has none.
    """
    single, *longer = isa.lower().split("_")
    match = _SINGLE.match(single)
    letters = match[1] if match else ""
    names = {*letters.partition("z")[0], *filter(None, longer)}
    names |= {name for letter, implied in _IMPLIED.items() if letter in names for name in implied}
    names |= {
        name
        for bit, probed_names in _PROBED_BITS.items()
        if bits and bits >> bit & 1
        for name in probed_names
    }
    return sorted(names - {*_IMPLIED})


def description(processor: Mapping[str, str], emulated: str = "", probe: Probe = probed) -> Json:
    """The facts in a processor's entry of /proc/cpuinfo: name, maker, numbers, extensions.

    `emulated`: name of the emulator, in which case the entry is ignored; "" for none.
    """
    if emulated:
        unknown = ("implementer", "part", "revision", "family", "model", "stepping", "microcode")
        return {
            "cpu": f"RISC-V in {emulated}",
            "vendor": "",
            "flags": list(EMULATED_FEATURES),
            **dict.fromkeys(unknown),
        }
    implementer, part = _number(processor, "mvendorid"), _number(processor, "marchid")
    maker = _VENDORS.get(implementer or 0, "")
    core = _CORES.get((maker, part or 0), "") or _product_name(processor.get("uarch", ""))
    return {
        "cpu": f"{maker} {core}".strip() or "unknown",
        "vendor": maker,
        "implementer": implementer,
        "part": part,
        "revision": processor.get("mimpid", ""),
        "flags": _flags(processor, probe),
    }


def _flags(processor: Mapping[str, str], probe: Probe) -> list[str]:
    isa = processor.get("hart isa") or processor.get("isa", "")
    return extensions(isa, probe(_EXTENSIONS_KEY))


def _product_name(name: str) -> str:
    """The core's name of the device tree, `thead,c910`, without the maker."""
    return name.rpartition(",")[2].upper()


def _number(processor: Mapping[str, str], name: str) -> int | None:
    try:
        return int(processor.get(name, ""), 16)
    except ValueError:
        return None
