"""Reads the processor's features by CPUID, executed as machine code.

/proc/cpuinfo lists only the features that the kernel knows, which an old kernel does not for a new processor.
Extensions with registers of their own count where the operating system has enabled these (XCR0). Bits:
Intel's and AMD's manuals.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from inference.agent.code_pages import CodePagesError, GuardedPages

EAX, EBX, ECX, EDX = range(4)
_SSE, _AVX, _AVX512 = 0x0, 0x6, 0xE6  # bits of XCR0 that have to be set
_OSXSAVE = 1 << 27  # of ecx of leaf 1

Leaves = Callable[[int, int], tuple[int, int, int, int]]
"""(leaf, subleaf) → eax, ebx, ecx, edx."""

# f(leaf | subleaf << 32, address): stores eax, ebx, ecx and edx there
_CPUID = bytes.fromhex("53 89f8 4889f9 48c1e920 0fa2 8906 895e04 894e08 89560c 5b c3")
# the same for xgetbv, which leaves eax and edx
_XGETBV = bytes.fromhex("89f9 0f01d0 8906 895604 c3")

_BITS: dict[tuple[int, int, int, int], dict[int, str]] = {
    # leaf, subleaf, register, XCR0
    (1, 0, EDX, _SSE): {
        0: "fpu", 4: "tsc", 5: "msr", 8: "cx8", 11: "sep", 15: "cmov", 19: "clflush", 23: "mmx", 24: "fxsr",
        25: "sse", 26: "sse2",
    },
    (1, 0, ECX, _SSE): {
        0: "pni", 1: "pclmulqdq", 3: "monitor", 9: "ssse3", 13: "cx16", 19: "sse4_1", 20: "sse4_2",
        22: "movbe", 23: "popcnt", 25: "aes", 26: "xsave", 30: "rdrand",
    },
    (1, 0, ECX, _AVX): {12: "fma", 28: "avx", 29: "f16c"},
    (7, 0, EBX, _SSE): {
        0: "fsgsbase", 3: "bmi1", 4: "hle", 8: "bmi2", 11: "rtm", 18: "rdseed", 19: "adx", 20: "smap",
        23: "clflushopt", 24: "clwb", 29: "sha_ni",
    },
    (7, 0, EBX, _AVX): {5: "avx2"},
    (7, 0, EBX, _AVX512): {
        16: "avx512f", 17: "avx512dq", 21: "avx512ifma", 26: "avx512pf", 27: "avx512er", 28: "avx512cd",
        30: "avx512bw", 31: "avx512vl",
    },
    (7, 0, ECX, _SSE): {
        0: "prefetchwt1", 5: "waitpkg", 8: "gfni", 22: "rdpid", 25: "cldemote", 27: "movdiri",
        28: "movdir64b", 29: "enqcmd",
    },
    (7, 0, ECX, _AVX): {9: "vaes", 10: "vpclmulqdq"},
    (7, 0, ECX, _AVX512): {
        1: "avx512vbmi", 6: "avx512_vbmi2", 11: "avx512_vnni", 12: "avx512_bitalg", 14: "avx512_vpopcntdq",
    },
    (7, 0, EDX, _SSE): {14: "serialize", 16: "tsxldtrk"},
    (7, 0, EDX, _AVX512): {
        2: "avx512_4vnniw", 3: "avx512_4fmaps", 8: "avx512_vp2intersect", 23: "avx512_fp16",
    },
    (7, 1, EAX, _SSE): {3: "rao_int"},
    (7, 1, EAX, _AVX): {0: "sha512", 1: "sm3", 2: "sm4", 4: "avx_vnni", 7: "cmpccxadd", 23: "avx_ifma"},
    (7, 1, EAX, _AVX512): {5: "avx512_bf16"},
    (7, 1, EDX, _AVX): {4: "avx_vnni_int8", 5: "avx_ne_convert", 10: "avx_vnni_int16"},
    (0x8000_0001, 0, ECX, _SSE): {0: "lahf_lm", 5: "abm", 6: "sse4a", 8: "3dnowprefetch", 21: "tbm"},
    (0x8000_0001, 0, ECX, _AVX): {11: "xop", 16: "fma4"},
    (0x8000_0001, 0, EDX, _SSE): {11: "syscall", 22: "mmxext", 27: "rdtscp", 30: "3dnowext", 31: "3dnow"},
    (0x8000_0008, 0, EBX, _SSE): {0: "clzero", 4: "rdpru"},
}  # fmt: skip

REPORTED_FLAGS = frozenset(name for bits in _BITS.values() for name in bits.values())
"""All flags that `flags` can report, by their names in /proc/cpuinfo."""


def flags() -> list[str] | None:
    """The `REPORTED_FLAGS` of this processor; None where machine code cannot be executed."""
    try:
        page = GuardedPages(1, executable=True)
    except CodePagesError:
        return None
    answer = (ctypes.c_uint32 * 4)()
    page.write(0, _CPUID)
    page.write(len(_CPUID), _XGETBV)

    def leaves(leaf: int, subleaf: int) -> tuple[int, int, int, int]:
        page.function(0)(leaf | subleaf << 32, ctypes.addressof(answer))
        return answer[EAX], answer[EBX], answer[ECX], answer[EDX]

    switched_on = 0
    if leaves(1, 0)[ECX] & _OSXSAVE:
        page.function(len(_CPUID))(0, ctypes.addressof(answer))
        switched_on = answer[0]
    return sorted(flags_of(leaves, switched_on))


def flags_of(leaves: Leaves, switched_on: int) -> set[str]:
    """The flags by CPUID's leaves and XCR0 (`switched_on`)."""
    highest = {base: leaves(base, 0)[EAX] for base in (0, 0x8000_0000)}
    subleaves = leaves(7, 0)[EAX] if highest[0] >= 7 else 0
    names: set[str] = set()
    for (leaf, subleaf, register, needed), bits in _BITS.items():
        if leaf > highest[leaf & 0x8000_0000] or subleaf > subleaves or switched_on & needed != needed:
            continue
        value = leaves(leaf, subleaf)[register]
        names |= {name for bit, name in bits.items() if value >> bit & 1}
    return names
