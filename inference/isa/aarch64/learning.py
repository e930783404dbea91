"""Learns the encodings of `schemes.json` from the installed llvm-mc."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from inference.isa import llvm_mc
from inference.isa.aarch64 import DOCUMENT, instruction_set
from inference.isa.aarch64.assembling import TRIPLE
from inference.isa.aarch64.codecs import A64_CODECS
from inference.isa.aarch64.templates import templates
from inference.isa.words.documents import LearntDocument, with_encodings
from inference.isa.words.learning import learn

_CPU = "generic"
_FEATURES = ",".join(
    f"+{feature}"
    for feature in (
        *("v8.5a", "crypto", "sha3", "sm4", "fullfp16", "fp16fml", "dotprod", "lse", "rdm", "rcpc"),
        *("jsconv", "complxnum", "i8mm", "bf16", "mte"),
    )
)
"""All that the document has forms of."""


def learn_document() -> LearntDocument:
    """The document with the encodings that llvm-mc uses. Raises `AssemblerError`."""
    instructions = instruction_set()
    forms = [*instructions.schemes, *(further.form for further in instructions.further)]
    learnt = learn(templates(forms, instructions.forms), _assemble, A64_CODECS)
    # What controls the flow is not seen in an encoding: that is the document's.
    flows = {text: encoding.flow for text, encoding in instructions.encodings.items()}
    encodings = {
        text: encoding._replace(flow=flows.get(text, "next")) for text, encoding in learnt.encodings.items()
    }
    changes = [text for text in encodings if encodings[text] != instructions.encodings.get(text)]
    content = with_encodings(DOCUMENT.read_bytes(), encodings)
    return LearntDocument(content, len(encodings), learnt.checked, tuple(changes), learnt.failures)


def _assemble(lines: Sequence[str]) -> list[int | None]:
    """The word of each line, None for a refused one, in two calls of llvm-mc."""
    refused = llvm_mc.assemble(lines, TRIPLE, _CPU, _FEATURES).refused
    accepted = [line for number, line in enumerate(lines) if number not in refused]
    code = llvm_mc.assemble(accepted, TRIPLE, _CPU, _FEATURES).code
    words = iter(struct.unpack(f"<{len(accepted)}I", code))
    return [None if number in refused else next(words) for number in range(len(lines))]
