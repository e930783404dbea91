"""What a listing of machine code looks like: of `perf annotate`, objdump and llvm-objdump."""

from __future__ import annotations

import re

from anica_app.exchange.perf_texts import is_annotate

_HEAD = re.compile(r"(?m)^\S.{,500}:[ \t]+file format \S+|^Disassembly of section \S{,500}:[ \t]*$")


def is_listing(beginning: str) -> bool:
    """Whether a text that begins so is a listing of a profiler or a disassembler."""
    return bool(_HEAD.search(beginning[:4000])) or is_annotate(beginning)
