"""Regions of a text that its comments mark, as llvm-mca and OSACA have them."""

from __future__ import annotations

import re

from inference.isa.code.errors import BlockError

_REGION_MARK = re.compile(r"\W{0,9}(?:LLVM-MCA|OSACA)[-_](BEGIN|START|END|STOP)\b\s*(.*)", re.IGNORECASE)


class Regions:
    """The regions of a text, in the order in which they begin; an unnamed one is called ""."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._open: dict[str, tuple[int, int]] = {}  # {name: (its number, the line that it begins in)}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._names)

    @property
    def inside(self) -> frozenset[int]:
        """The numbers of those that are open."""
        return frozenset(number for number, _ in self._open.values())

    def see(self, comment: str, line: int) -> None:
        """What a comment says. Raises `BlockError` for ends without begins and the like."""
        mark = _REGION_MARK.match(comment)
        if mark is None:
            return
        name = mark[2].strip()
        if mark[1].upper() in ("BEGIN", "START"):
            if name in self._open:
                what = f"the region {name!r} begins twice" if name else "a region begins within another one"
                raise BlockError(f"{what}: end it first, or give both a name", line)
            self._open[name] = len(self._names), line
            self._names.append(name)
            return
        if not name and len(self._open) == 1:
            name = next(iter(self._open))
        if name not in self._open:
            which = f"the region {name!r}" if name else "a region"
            raise BlockError(f"{which} ends here that has not begun", line)
        del self._open[name]

    def end(self) -> None:
        """The end of the text. Raises `BlockError` where a region is open."""
        for name, (_, line) in self._open.items():
            which = f"the region {name!r}" if name else "the region"
            raise BlockError(
                f"{which} that begins here has no end like '# LLVM-MCA-END {name}".rstrip() + "'", line
            )
