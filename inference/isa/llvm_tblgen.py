"""LLVM's own descriptions of a target, read by `llvm-tblgen`: records as plain objects.

The files are in a folder of LLVM's sources that the operator names. `llvm-tblgen` may open nothing else, and
has limits on time, memory and output; see `inference.containment`.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inference.containment import LIBRARIES, CannotStartError, Limits, program_paths, run

Record = dict[str, Any]
"""A record's fields, and `!superclasses`."""

PROGRAM = "llvm-tblgen"
_TARGETS = Path("lib/Target")
_LIMITS = Limits(seconds=300.0, memory=8192, output=1024, processes=1, open_files=256)
_DECLARED = re.compile(r"LLVM_VERSION_MAJOR (\d+)\b")
_DECLARING = ("../cmake/Modules/LLVMVersion.cmake", "CMakeLists.txt")
_PLACES = ("usr/lib/llvm-*/bin", "usr/local/lib/llvm-*/bin", "opt/llvm*/bin")


class TableGeneratorError(RuntimeError):
    """llvm-tblgen is missing or cannot read the files; the message says what would help."""


@dataclass(frozen=True)
class LlvmSources:
    """A folder of LLVM's sources, with `lib` and `include` in it; `name`: LLVM's name of the target."""

    folder: Path
    name: str

    @property
    def target(self) -> Path:
        """Path of LLVM's files for the target."""
        return self.folder / _TARGETS / self.name

    @property
    def top(self) -> Path:
        """The file that includes all others of the target."""
        return self.target / f"{self.name}.td"

    @property
    def release(self) -> int | None:
        """The major version that the folder declares, None without a declaration."""
        for name in _DECLARING:
            try:
                version = _DECLARED.search((self.folder / name).read_text(encoding="utf-8", errors="replace"))
            except OSError:
                continue
            if version:
                return int(version[1])
        return None


def sources_in(folder: Path, name: str) -> LlvmSources:
    """The sources in a folder: it, or its `llvm`, contains `lib/Target/X86` for the target X86.

    Raises `TableGeneratorError`.
    """
    for candidate in (folder, folder / "llvm"):
        sources = LlvmSources(candidate.resolve(), name)
        if sources.top.is_file() and (candidate / "include").is_dir():
            return sources
    raise TableGeneratorError(
        f"{folder} has no {_TARGETS / name}/{name}.td with include beside lib: name LLVM's sources, "
        "llvm-project/llvm"
    )


def records_of(sources: LlvmSources) -> Iterator[tuple[str, Record]]:
    """(name, record) of every record, by the first llvm-tblgen that can read the files.

    The one of the folder's own release is tried first. Raises `TableGeneratorError`.
    """
    failures = []
    for program in _programs(sources.release):
        try:
            reads = (*LIBRARIES.reads, *program_paths(program), str(sources.folder))
            command = _command(program, sources, "-dump-json")
            outcome = run(command, limits=_LIMITS, access=replace(LIBRARIES, reads=reads))
        except CannotStartError as error:
            raise TableGeneratorError(str(error)) from error
        if outcome.status == 0:
            return _objects(outcome.stdout.decode())
        failures.append(f"{program}: {outcome.last_error_line or outcome.ending}")
    if failures:
        raise TableGeneratorError(
            f"no {PROGRAM} that is installed can read {sources.target}: {'; '.join(failures)}"
        )
    raise TableGeneratorError(
        f"{PROGRAM} is not installed here: install LLVM's tools (Debian: apt install llvm)"
    )


def _command(program: str, sources: LlvmSources, action: str) -> list[str]:
    include = [f"-I{sources.folder / 'include'}", f"-I{sources.target}"]
    return [program, action, *include, str(sources.top)]


def _programs(release: int | None) -> list[str]:
    """Installed programs: of this release, then from the PATH, then the newest."""
    numbered = {
        int(digits[0]): str(path)
        for pattern in _PLACES
        for path in Path("/").glob(f"{pattern}/{PROGRAM}")
        if (digits := re.findall(r"\d+", path.parent.parent.name))
    }
    on_path = shutil.which(PROGRAM)
    same_release = [numbered[release]] if release in numbered else []
    newest = [numbered[number] for number in sorted(numbered, reverse=True)]
    return list(dict.fromkeys([*same_release, *([on_path] if on_path else []), *newest]))


def _objects(text: str) -> Iterator[tuple[str, Record]]:
    """The members of one large JSON object, parsed one at a time."""
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
