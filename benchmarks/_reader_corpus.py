"""What compilers write for a corpus of small C and C++ files, and the machine code that it stands for."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection

from benchmarks import MissingDataError

CORPUS = Path(__file__).parent / "_corpus"
COMPILERS = ("gcc", "clang")
SYNTAXES = ("att", "intel")
LEVELS: dict[str, tuple[str, ...]] = {
    "O0": ("-O0",),
    "O2": ("-O2",),
    "O3": ("-O3",),
    "O3-haswell": ("-O3", "-march=haswell"),
    "O3-skylake-avx512": ("-O3", "-march=skylake-avx512"),
}
_SIZES = {1: 8, 2: 4, 4: 4, 9: 4, 10: 4, 11: 4, 12: 2, 14: 1, 17: 8, 18: 8, 19: 4, 20: 4, 21: 4, 22: 4, 23: 4,
          24: 8, 25: 8, 26: 4, 34: 4, 35: 0, 41: 4, 42: 4}  # fmt: skip
"""Bytes that a relocation of each type of x86-64's fills in."""

_SECTION = re.compile(r'\s*\.(?:section\s+"?([\w.$@+-]+)"?|(text|data|bss)\b).*')
_PREVIOUS = re.compile(r"\s*\.previous\b.*")


@dataclass(frozen=True)
class Section:
    """Machine code, and which bytes of it the linker fills in: these are zero."""

    code: bytes
    relocated: frozenset[int]


@dataclass(frozen=True)
class Compiled:
    """One file as a compiler writes it: the text, and the sections of the object assembled from it."""

    file: str
    compiler: str
    level: str
    syntax: str
    text: str
    sections: dict[str, Section]

    @property
    def name(self) -> str:
        """What is said of it in lists."""
        return f"{self.file} {self.compiler} {self.level} {self.syntax}"


def files() -> list[Path]:
    return sorted(path for path in CORPUS.iterdir() if path.suffix in (".c", ".cpp"))


def compiled(paths: Sequence[Path], levels: Sequence[str], work: Path) -> Iterator[Compiled]:
    """Each file by both compilers, at these levels, in both syntaxes; their files come into `work`."""
    if missing := [name for name in COMPILERS if shutil.which(name) is None]:
        raise MissingDataError(f"not installed: {', '.join(missing)}")
    for path in paths:
        for compiler in COMPILERS:
            for level in levels:
                for syntax in SYNTAXES:
                    yield _compiled(path, compiler, level, syntax, work)


def _compiled(path: Path, compiler: str, level: str, syntax: str, work: Path) -> Compiled:
    written, assembled = work / "written.s", work / "assembled.o"
    options = [*LEVELS[level], f"-masm={syntax}", "-ffile-prefix-map=/=/"]
    _call([compiler, *options, "-S", "-o", str(written), str(path)])
    _call([compiler, "-c", "-o", str(assembled), str(written)])
    text = written.read_text()
    return Compiled(path.name, compiler, level, syntax, text, sections_of(assembled.read_bytes()))


def _call(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    if done.returncode:
        raise MissingDataError(f"{' '.join(command)} fails: {done.stderr[:300]}")


def sections_of(elf: bytes) -> dict[str, Section]:
    """The sections with code of an object file for x86-64, and which of their bytes are filled in later."""
    file = ELFFile(io.BytesIO(elf))
    relocated: defaultdict[int, set[int]] = defaultdict(set)
    for section in file.iter_sections():
        for relocation in section.iter_relocations() if isinstance(section, RelocationSection) else ():
            place, size = relocation["r_offset"], _SIZES.get(relocation["r_info_type"], 4)
            relocated[section["sh_info"]].update(range(place, place + size))
    return {
        section.name: Section(section.data(), frozenset(relocated[number]))
        for number, section in enumerate(file.iter_sections())
        if section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR and section["sh_size"]
    }


def section_of_lines(text: str) -> list[str]:
    """The section that each line of assembly belongs to."""
    current = before = ".text"
    found = []
    for line in text.splitlines():
        if row := _SECTION.fullmatch(line):
            before, current = current, row[1] or f".{row[2]}"
        elif _PREVIOUS.fullmatch(line):
            before, current = current, before
        found.append(current)
    return found
