"""The LLVM facet of AArch64: its schemes and code for LLVM and tools with its syntax."""

from __future__ import annotations

import re

from inference.isa.aarch64 import assembling

triple, cpu, features, models = assembling.triple, assembling.cpu, assembling.features, assembling.models
gnu_lines, gnu_scheme = assembling.gnu_lines, assembling.gnu_scheme
instances, register_probes = assembling.instances, assembling.register_probes
osaca = "aarch64"
every_feature = "+all,+v8.6a,+crypto,+crc,+fullfp16,+fp16fml"
"""Releases before 16 ignore `+all`."""

simulated = ("neoverse-n1", "cortex-a57", "apple-m1")
probe = "add x0, x1, x2"  # the model of oryon-1 lacks `nop`
comment = "//"
marker = (bytes.fromhex("405c38d5"), "S3_0_C5_C12_2")
prefixes: frozenset[str] = frozenset()

_SEPARATOR, _NUMBER_PLACE = 0xD4400000, 5  # `hlt #0`
separator_code = re.compile(rb"[\x40-\x5f]\xd4")
separator_text = re.compile(r"hlt\s+#(\w+)")


def separator(number: int) -> bytes:
    return (_SEPARATOR | number << _NUMBER_PLACE).to_bytes(4, "little")
