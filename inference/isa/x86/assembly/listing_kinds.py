"""The kinds of listings of x86-64 that are read, in the order in which a text is compared with them."""

from __future__ import annotations

import re

from inference.isa.code.directives import is_undotted
from inference.isa.code.listing_reader import listing_of
from inference.isa.code.listings import IsForeign, LineLanguage, Listing, ListingKind, NumberedLines
from inference.isa.code.source import lines_without_drawings
from inference.isa.x86.assembly.assembler_listings import ASSEMBLERS
from inference.isa.x86.assembly.dotnet_listings import DOTNET
from inference.isa.x86.assembly.go_listings import GO_COMPILER, GO_OBJDUMP
from inference.isa.x86.assembly.jit_listings import HOTSPOT, LUAJIT, V8
from inference.isa.x86.assembly.profile_tables import PROFILE_TABLES
from inference.isa.x86.assembly.skipped_lines import RELOCATION, classify, is_instruction
from inference.isa.x86.assembly.stack_names import is_definition, with_places
from inference.isa.x86.assembly.statements import begins_instruction
from inference.isa.x86.assembly.unaddressed_listings import UNADDRESSED

LANGUAGE = LineLanguage(
    begins_instruction,
    is_instruction,
    classify,
    lambda text: is_undotted(text) or is_definition(text),
    RELOCATION,
)


def _read_addressed_lines(lines: NumberedLines, is_foreign: IsForeign) -> Listing | None:
    return listing_of(with_places(lines), LANGUAGE, is_foreign)


ADDRESSED_LINES = ListingKind(
    "objdump",
    re.compile(r":|│|^[^\w\n]*(?:0x[0-9a-f]{4}|[0-9a-f]{8})", re.IGNORECASE | re.MULTILINE),
    _read_addressed_lines,
)
"""Lines that begin with an address, of most programs: see `inference.isa.code.addressed_lines`."""

KINDS: tuple[ListingKind, ...] = (
    PROFILE_TABLES,
    GO_COMPILER,
    GO_OBJDUMP,
    DOTNET,
    LUAJIT,
    V8,
    HOTSPOT,
    ASSEMBLERS,
    ADDRESSED_LINES,
    UNADDRESSED,
)


def listing_in(lines: NumberedLines, is_foreign: IsForeign) -> Listing | None:
    """The listing in a text, of the first kind that it is; None where it is none. Raises `BlockError`.

    Only lines with addresses are read with their drawings: a bar divides the columns of perf.
    """
    texts = [line for _, line in lines]
    bare = lines_without_drawings(texts)
    plain = lines if bare is texts else list(zip((number for number, _ in lines), bare, strict=True))
    text, plain_text = "\n".join(texts), "\n".join(bare)
    for kind in KINDS:
        has_drawings = kind is ADDRESSED_LINES
        if not kind.signature.search(text if has_drawings else plain_text):
            continue
        if (listing := kind.read(lines if has_drawings else plain, is_foreign)) is not None:
            return listing
    return None
