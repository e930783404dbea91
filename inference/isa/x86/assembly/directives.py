"""Directives of assemblers: which are harmless and passed over, and which are refused by name.

A directive that emits, repeats or guards code would make a block another one if it were passed over, and one
that reads files is none of ours. Data is passed over where no instruction runs into it.
"""

from __future__ import annotations

import re

# Which parts of a compiler's output are code, and where data among code cannot be reached.


class Sections:
    """Follows the directives and statements of a text.

    Data is passed over in sections of data, and in code where a label stands before it and no instruction
    runs into it, as tables of jumps do.
    """

    def __init__(self) -> None:
        self.in_code = True
        self._stack = [True]
        self._falls_through = False
        self._in_data = False

    def directive(self, name: str, rest: str) -> None:
        """A directive that may change the section; any other one does nothing."""
        if name == "popsection":
            if len(self._stack) > 1:
                self.in_code = self._stack.pop()
        elif name == "previous":
            self.in_code, self._stack[-1] = self._stack[-1], self.in_code
        else:
            if name == "pushsection":
                self._stack.append(self.in_code)
            is_code = holds_code(name, rest)
            if is_code is not None:
                if name != "pushsection":
                    self._stack[-1] = self.in_code
                self.in_code = is_code
        if not self.in_code:
            self._in_data = False

    def begin_paragraph(self) -> None:
        """No instruction of the paragraph before runs into what follows."""
        self._falls_through = self._in_data = False

    def reach_label(self) -> None:
        """What follows is no part of the data before it."""
        self._in_data = False

    def reach_instruction(self, *, falls_through: bool) -> None:
        """An instruction, from which the one behind it can be reached or not."""
        self._in_data = False
        self._falls_through = falls_through

    def data_is_unreachable(self, is_labelled: bool) -> bool:
        """Whether data that stands here is never run."""
        if not self.in_code:
            return True
        unreachable = not self._falls_through and (is_labelled or self._in_data)
        self._in_data = self._in_data or unreachable
        return unreachable


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

_SECTION = re.compile(r"[\"']?([^\s,\"']+)[\"']?(?:\s*,\s*[\"']?([^\s,\"']*)[\"']?)?")
_TEXT_SECTIONS = re.compile(r"\.(?:text|init|fini|plt)\b.*|__text|__TEXT.*|_TEXT.*|code", re.IGNORECASE)
_BARE = re.compile(
    # of NASM and Microsoft's assemblers, and what IDA prints
    r"(?:global|extern|default|section|segment|bits|cpu|use64|align|public|extrn|includelib|option|assume|"
    r"end|title|name|\.?model|npad|comment)\b(?!\s*:).*|"
    r"[\w$?@.]+\s+(?:proc|endp|segment|ends|proc\s+near)\b.*|endp|bits\s+64",
    re.IGNORECASE,
)
_BARE_DATA = re.compile(r"([\w.$?@]+\s+)?(?:d[bwdqtoyz]|res[bwdqt])\b.*", re.IGNORECASE | re.DOTALL)
_BARE_REFUSED = re.compile(
    r"(?:include|incbin|times|rept|repeat|macro|endm|endrep|"
    r"%(?:macro|rep|include|if\w*|define|assign|rotate))\b.*",
    re.IGNORECASE,
)


def is_bare(text: str) -> bool:
    """Whether a statement without a dot is a directive of an assembler that writes them so."""
    return any(pattern.fullmatch(text) for pattern in (_BARE_REFUSED, _BARE, _BARE_DATA))


def is_refused_bare(text: str) -> bool:
    """Whether such a directive repeats or reads in code."""
    return _BARE_REFUSED.fullmatch(text) is not None


def is_bare_data(text: str) -> bool:
    """Whether such a directive is data."""
    return not _BARE.fullmatch(text) and _BARE_DATA.fullmatch(text) is not None


def is_named_data(text: str) -> bool:
    """Whether the data has a name, as variables have."""
    found = _BARE_DATA.fullmatch(text)
    return found is not None and found[1] is not None


def kind_of(name: str) -> str:
    """What a directive is by its name without the dot: "harmless", "data", "refused" or "" (nobody knows)."""
    if name in REPEATING:
        return "refused"
    if name in DATA:
        return "data"
    if name in HARMLESS or name.startswith(HARMLESS_STEMS):
        return "harmless"
    return ""


def holds_code(name: str, rest: str) -> bool | None:
    """Whether what follows a directive is in a section of code; None where it does not change the section."""
    if name in ("text", "init", "fini"):
        return True
    if name in (
        "data",
        "bss",
        "rodata",
        "tdata",
        "tbss",
        "cstring",
        "const",
        "literal4",
        "literal8",
        "literal16",
    ):
        return False
    if name not in ("section", "pushsection"):
        return None
    found = _SECTION.match(rest.strip())
    if found is None:
        return None
    section, second = found.group(1), found.group(2) or ""
    if section == "__TEXT":
        return second == "__text"
    return bool(_TEXT_SECTIONS.fullmatch(section)) or "x" in second
