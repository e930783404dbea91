"""Directives of assemblers: harmless ones, which are skipped, data, and refused ones.

Directives that emit, repeat or guard code would change a block if they were skipped; those that read files
are not supported. Data is skipped where no instruction runs into it.
"""

from __future__ import annotations

import re

_HARMLESS_WORDS = """
    align p2align p2alignw p2alignl balign balignw balignl file loc type size globl global local weak hidden
    protected internal ident section text data bss rodata pushsection popsection previous subsection comm
    lcomm tcomm common addrsig addrsig_sym build_version macosx_version_min version subsections_via_symbols
    intel_syntax att_syntax code64 arch def scl endef secrel32 symver linkonce weakref weak_definition
    private_extern extern no_dead_strip alt_entry lto_discard tbss tdata cstring const literal4 literal8
    literal16 stabs stabn line ln func endfunc title sbttl loc_mark_labels gnu_attribute indirect_symbol
    zerofill desc end linker_option data_region end_data_region set equ equiv eqv safeseh secidx symidx rva
    eject list nolist psize
"""
HARMLESS = frozenset(_HARMLESS_WORDS.split())
HARMLESS_STEMS = ("cfi_", "cv_", "seh_")

_DATA_WORDS = """
    byte 2byte 4byte 8byte short value hword word long int quad octa dc dcb single float double tfloat
    string string8 string16 string32 string64 ascii asciz zero skip space fill sleb128 uleb128 reloc
    dtprelword dtpreldword gpword inst
"""
DATA = frozenset(_DATA_WORDS.split())

_REPEATING_WORDS = """
    incbin include rept rep irp irpc endr macro endm endmacro exitm purgem altmacro noaltmacro if ifdef
    ifndef ifnotdef ifb ifnb ifc ifnc ifeq ifne ifge ifgt ifle iflt ifeqs ifnes else elseif endif err error
    warning print abort org code16 code16gcc code32 nops nop insn struct offset mri option base64
"""
REPEATING = frozenset(_REPEATING_WORDS.split())

_UNDOTTED = re.compile(
    # of NASM, FASM and Microsoft's assemblers, and what IDA prints
    r"(?:global|extern|default|section|segment|bits|cpu|use64|align|public|extrn|includelib|option|assume|"
    r"end|title|name|\.?model|npad|comment|format|entry)\b(?!\s*:).*|"
    r"[\w$?@.]+\s+(?:proc|endp|segment|ends|proc\s+near)\b.*|endp|bits\s+64",
    re.IGNORECASE,
)
_UNDOTTED_DATA = re.compile(r"([\w.$?@]+\s+)?(?:d[bwdqtoyz]|res[bwdqt])\b.*", re.IGNORECASE | re.DOTALL)
"""Data of NASM and MASM, perhaps with a name: `table dd 1, 2`."""

_UNDOTTED_REFUSED = re.compile(
    r"(?:include|incbin|times|rept|repeat|macro|endm|endrep|"
    r"%(?:macro|rep|include|if\w*|define|assign|rotate))\b.*|"
    r"[\w$?@.]+\s+proc\b(?>.*?\buses\b).*|local\s+[\w$?@]+\s*:.*|invoke\s.*",
    re.IGNORECASE,
)


def is_undotted(text: str) -> bool:
    """Whether a statement without a dot is a directive of NASM, MASM or IDA."""
    return any(pattern.fullmatch(text) for pattern in (_UNDOTTED_REFUSED, _UNDOTTED, _UNDOTTED_DATA))


def is_refused_undotted(text: str) -> bool:
    """Whether such a directive repeats, includes or makes code."""
    return _UNDOTTED_REFUSED.fullmatch(text) is not None


def is_undotted_data(text: str) -> bool:
    return not _UNDOTTED.fullmatch(text) and _UNDOTTED_DATA.fullmatch(text) is not None


def is_named_data(text: str) -> bool:
    """Whether such data has a name, like a variable."""
    match = _UNDOTTED_DATA.fullmatch(text)
    return match is not None and match[1] is not None


def kind_of(name: str) -> str:
    """The kind of a directive by its name without the dot: "harmless", "data", "refused" or "" (unknown)."""
    if name in REPEATING:
        return "refused"
    if name in DATA:
        return "data"
    if name in HARMLESS or name.startswith(HARMLESS_STEMS):
        return "harmless"
    return ""
