from __future__ import annotations

from collections import Counter

import pytest

from inference.isa.x86 import schemes
from inference.isa.x86.availability import flag, missing_feature

COMMON = frozenset({
    "fpu", "tsc", "cx8", "cmov", "mmx", "fxsr", "sse", "sse2", "syscall", "rdtscp", "lm", "pni", "pclmulqdq",
    "ssse3", "fma", "cx16", "sse4_1", "sse4_2", "movbe", "popcnt", "aes", "xsave", "avx", "f16c", "rdrand",
    "lahf_lm", "abm", "3dnowprefetch", "fsgsbase", "bmi1", "avx2", "bmi2", "rdseed", "adx", "clflushopt",
})  # fmt: skip
ZEN3 = COMMON | {"sse4a", "misalignsse", "sha_ni", "vaes", "vpclmulqdq", "clwb", "clzero", "rdpid", "rdpru"}
SKYLAKE = COMMON | {"rtm", "hle"}
SKYLAKE_SP = SKYLAKE | {"avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl", "clwb", "ospke"}

# as Linux's cpufeatures.h calls them; the default set needs no others
KNOWN_TO_LINUX = {
    "abm", "aes", "avx", "avx2", "avx_ifma", "avx_ne_convert", "avx_vnni", "avx_vnni_int16", "avx_vnni_int8",
    "bmi1", "bmi2", "cmov", "f16c", "fma", "gfni", "movbe", "pclmulqdq", "popcnt", "3dnowprefetch",
    "prefetchwt1", "sha512", "sm3", "sm4", "sse", "sse4_2", "vaes", "vpclmulqdq",
}  # fmt: skip


def _missing(flags):
    return Counter(missing_feature(scheme, flags) for scheme in schemes() if not scheme.exclusion)


def test_every_extension_of_the_default_set_has_a_flag_that_linux_knows():
    default = {name for scheme in schemes() if not scheme.exclusion for name in scheme.extension.split("+")}
    assert {flag(name) for name in default} - {""} == KNOWN_TO_LINUX
    assert {name for name in default if not flag(name)} == {"BASE", "X64", "MULTIBYTENOP", "CET_IBT"}


@pytest.mark.parametrize(
    ("text", "flags", "missing"),
    [
        ("add GPR[64]:RW, GPR[64]:R", ZEN3, ""),
        ("lzcnt GPR[64]:W, GPR[64]:R", ZEN3, ""),  # abm
        ("lzcnt GPR[64]:W, GPR[64]:R", ZEN3 - {"abm"}, "this CPU lacks LZCNT"),
        ("vaddps ZMM:W, ZMM:R, ZMM:R", ZEN3, "this CPU lacks AVX512F"),
        ("vaddps ZMM:W, ZMM:R, ZMM:R", SKYLAKE, "this CPU lacks AVX512F"),
        ("vaddps ZMM:W, ZMM:R, ZMM:R", SKYLAKE_SP, ""),
        ("{evex} vaddpd XMM:W, XMM:R, XMM:R", SKYLAKE_SP - {"avx512vl"}, "this CPU lacks AVX512VL"),
        ("vaesenc YMM:W, YMM:R, YMM:R", ZEN3, ""),
        ("vaesenc YMM:W, YMM:R, YMM:R", SKYLAKE, "this CPU lacks VAES"),
        ("vgf2p8mulb XMM:W, XMM:R, XMM:R", ZEN3, "this CPU lacks GFNI"),
        ("sha1nexte XMM:RW, XMM:R", ZEN3, ""),
        ("sha1nexte XMM:RW, XMM:R", SKYLAKE, "this CPU lacks SHA"),
        ("extrq XMM:RW, XMM:R", SKYLAKE, "this CPU lacks SSE4a"),
        ("addsubps XMM:RW, XMM:R", SKYLAKE, ""),  # SSE3 is pni
        ("vpdpbusd XMM:RW, XMM:R, XMM:R", ZEN3, "this CPU lacks AVX_VNNI"),
        ("vpermd YMM:W, YMM:R, YMM:R", ZEN3 - {"avx2"}, "this CPU lacks AVX2"),
    ],
)
def test_what_a_cpu_lacks_is_said_by_name(by_text, text, flags, missing):
    assert missing_feature(by_text[text], flags) == missing


def test_current_cores_have_most_of_the_default_set_and_none_has_avx512():
    for flags in (ZEN3, SKYLAKE):
        assert _missing(flags)[""] > 1_950
        assert not any(
            missing_feature(scheme, flags) == "" for scheme in schemes() if scheme.encoding == "EVEX"
        )


def test_the_starter_set_needs_no_more_than_a_core_of_2013_has():
    for scheme in schemes():
        if scheme.starter:
            assert missing_feature(scheme, SKYLAKE) == ""
