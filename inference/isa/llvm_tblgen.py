"""What LLVM's own files say of X86, as `llvm-tblgen` reads them: records as plain objects.

The files are those of a folder of LLVM's sources that the operator names. `llvm-tblgen` opens nothing else,
and has a limit on time, memory and output; see `inference.containment`.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inference.containment import LIBRARIES, CannotStartError, Limits, places_of, run

Record = dict[str, Any]
"""A record's fields, and `!superclasses`."""

PROGRAM = "llvm-tblgen"
TARGET = Path("lib/Target/X86")
_TOP = TARGET / "X86.td"
_LIMITS = Limits(seconds=300.0, memory=8192, output=1024, processes=1, open_files=256)
_DECLARED = re.compile(r"LLVM_VERSION_MAJOR (\d+)\b")
_DECLARING = ("../cmake/Modules/LLVMVersion.cmake", "CMakeLists.txt")
_PLACES = ("usr/lib/llvm-*/bin", "usr/local/lib/llvm-*/bin", "opt/llvm*/bin")


class TableGeneratorError(RuntimeError):
    """llvm-tblgen is missing or cannot read the files; the text says what would help."""


@dataclass(frozen=True)
class LlvmSources:
    """A folder of LLVM's sources: that with `lib` and `include` in it."""

    folder: Path

    @property
    def target(self) -> Path:
        """Where the files of X86 are."""
        return self.folder / TARGET

    @property
    def release(self) -> int | None:
        """The major version that the folder declares, None where it does not."""
        for name in _DECLARING:
            try:
                found = _DECLARED.search((self.folder / name).read_text(encoding="utf-8", errors="replace"))
            except OSError:
                continue
            if found:
                return int(found[1])
        return None


def sources_in(folder: Path) -> LlvmSources:
    """The sources in a folder: it, or `llvm` in it, has `lib/Target/X86`. Raises `TableGeneratorError`."""
    for candidate in (folder, folder / "llvm"):
        if (candidate / _TOP).is_file() and (candidate / "include").is_dir():
            return LlvmSources(candidate.resolve())
    raise TableGeneratorError(
        f"{folder} has no {_TOP} with include beside lib: name LLVM's sources, llvm-project/llvm"
    )


def records_of(sources: LlvmSources) -> Iterator[tuple[str, Record]]:
    """(name, record) of every record, by the first llvm-tblgen that can read the files.

    The one of the folder's own release is tried first. Raises `TableGeneratorError`.
    """
    complaints = []
    for program in _programs(sources.release):
        try:
            done = run(
                _command(program, sources, "-dump-json"),
                limits=_LIMITS,
                access=replace(LIBRARIES, reads=(*LIBRARIES.reads, *places_of(program), str(sources.folder))),
            )
        except CannotStartError as error:
            raise TableGeneratorError(str(error)) from error
        if done.status == 0:
            return _objects(done.output.decode())
        complaints.append(f"{program}: {done.last_complaint or done.ending}")
    if complaints:
        raise TableGeneratorError(
            f"no {PROGRAM} that is installed can read {sources.target}: {'; '.join(complaints)}"
        )
    raise TableGeneratorError(
        f"{PROGRAM} is not installed here: install LLVM's tools (Debian: apt install llvm)"
    )


def _command(program: str, sources: LlvmSources, action: str) -> list[str]:
    include = [f"-I{sources.folder / 'include'}", f"-I{sources.target}"]
    return [program, action, *include, str(sources.folder / _TOP)]


def _programs(release: int | None) -> list[str]:
    """Installed ones: of this release, then from the PATH, then the newest."""
    numbered = {
        int(found[0]): str(path)
        for pattern in _PLACES
        for path in Path("/").glob(f"{pattern}/{PROGRAM}")
        if (found := re.findall(r"\d+", path.parent.parent.name))
    }
    plain = shutil.which(PROGRAM)
    own = [numbered[release]] if release in numbered else []
    newest = [numbered[number] for number in sorted(numbered, reverse=True)]
    return list(dict.fromkeys([*own, *([plain] if plain else []), *newest]))


def _objects(text: str) -> Iterator[tuple[str, Record]]:
    """The members of one large object, one after the other."""
    decoder = json.JSONDecoder()
    place = text.index("{") + 1
    while True:
        while text[place] in " \n,":
            place += 1
        if text[place] == "}":
            return
        name, place = decoder.raw_decode(text, place)
        place = text.index(":", place) + 1
        while text[place] in " \n":
            place += 1
        value, place = decoder.raw_decode(text, place)
        if not name.startswith("!"):
            yield name, value
