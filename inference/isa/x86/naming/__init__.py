"""Names that others have for our schemes: assemblers' other mnemonics, AT&T's, uops.info's, LLVM's."""

from __future__ import annotations

from inference.isa.x86.naming.meaning import is_avx512, meaning_of, mnemonics_named

__all__ = ["is_avx512", "meaning_of", "mnemonics_named"]
