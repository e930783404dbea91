"""Foreign names of our schemes: assemblers' synonyms, AT&T's, uops.info's, LLVM's."""

from __future__ import annotations

from inference.isa.x86.naming.meaning import (
    is_avx512,
    llvm_meaning,
    meaning_of,
    mnemonics_named,
    uops_info_name,
)

__all__ = ["is_avx512", "llvm_meaning", "meaning_of", "mnemonics_named", "uops_info_name"]
