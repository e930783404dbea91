"""Identifies Arm processors by the numbers in /proc/cpuinfo."""

from __future__ import annotations

from collections.abc import Mapping

from inference.agent.reading import Json

_ARM = 0x41  # the implementer's number in MIDR_EL1

_IMPLEMENTERS = {
    _ARM: "ARM", 0x42: "Broadcom", 0x43: "Cavium", 0x46: "Fujitsu", 0x48: "HiSilicon", 0x4E: "NVIDIA",
    0x50: "APM", 0x51: "Qualcomm", 0x53: "Samsung", 0x61: "Apple", 0x6D: "Microsoft", 0xC0: "Ampere",
}  # fmt: skip

_PARTS = {
    (_ARM, 0xD03): "Cortex-A53", (_ARM, 0xD04): "Cortex-A35", (_ARM, 0xD05): "Cortex-A55",
    (_ARM, 0xD07): "Cortex-A57", (_ARM, 0xD08): "Cortex-A72", (_ARM, 0xD09): "Cortex-A73",
    (_ARM, 0xD0A): "Cortex-A75", (_ARM, 0xD0B): "Cortex-A76", (_ARM, 0xD0C): "Neoverse N1",
    (_ARM, 0xD0D): "Cortex-A77", (_ARM, 0xD40): "Neoverse V1", (_ARM, 0xD41): "Cortex-A78",
    (_ARM, 0xD44): "Cortex-X1", (_ARM, 0xD46): "Cortex-A510", (_ARM, 0xD47): "Cortex-A710",
    (_ARM, 0xD48): "Cortex-X2", (_ARM, 0xD49): "Neoverse N2", (_ARM, 0xD4F): "Neoverse V2",
    (0x43, 0x0AF): "ThunderX2", (0x46, 0x001): "A64FX", (0x48, 0xD01): "TaiShan v110",
    (0x51, 0x800): "Kryo 2xx Gold", (0x61, 0x022): "M1 Icestorm", (0x61, 0x023): "M1 Firestorm",
    (0xC0, 0xAC3): "AmpereOne",
}  # fmt: skip
"""{(implementer, part): name}, numbered as in the main identification register (MIDR_EL1)."""

_EMULATED_FEATURES = ("fp", "asimd", "aes", "pmull", "sha1", "sha2", "crc32")
"""Features that emulators of Armv8-A have."""


def description(processor: Mapping[str, str], emulated: str = "") -> Json:
    """The facts in a processor's entry of /proc/cpuinfo: name, maker, numbers, features.

    `emulated`: name of the emulator, in which case the entry is ignored; "" for none.
    """
    if emulated:
        unknown = ("implementer", "part", "revision", "family", "model", "stepping", "microcode")
        no_identity = {"vendor": "", **dict.fromkeys(unknown)}
        return {"cpu": f"AArch64 in {emulated}", "flags": list(_EMULATED_FEATURES), **no_identity}
    implementer, part = _hexadecimal(processor, "implementer"), _hexadecimal(processor, "part")
    maker = _IMPLEMENTERS.get(implementer or 0, "")
    name = _PARTS.get((implementer or 0, part or 0), "")
    if not name and part is not None:
        name = f"part 0x{part:03x}"
        maker = maker or f"implementer 0x{implementer or 0:02x}"
    return {
        "cpu": f"{maker} {name}".strip() or "unknown",
        "vendor": maker,
        "implementer": implementer,
        "part": part,
        "revision": f"r{_hexadecimal(processor, 'variant') or 0}p{processor.get('CPU revision', '?')}",
        "flags": processor.get("Features", "").split(),
    }


def _hexadecimal(processor: Mapping[str, str], name: str) -> int | None:
    try:
        return int(processor.get(f"CPU {name}", ""), 16)
    except ValueError:
        return None
