"""The releases of llvm-mca on this computer, the assembler of each, and the processors that they know."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from inference.containment import CannotStartError, Limits, run
from inference.isa.facets import LlvmSide
from inference.isa.target import IsaTarget
from inference.isa.targets import targets
from inference.predictors.processor_names import unknown_processor
from inference.predictors.protocol import PredictorError
from inference.predictors.tool_paths import check_program

PROGRAM = "llvm-mca"
INSTALL = "apt install llvm, or a package of one release such as llvm-19"

_PLACES = ("usr/lib/llvm-*/bin", "usr/local/lib/llvm-*/bin", "opt/llvm*/bin")
_DEPTH = 1
"""How far above such a directory the one lies in which a new release becomes visible."""

_VERSION = re.compile(r"version (\d+(?:\.\d+)*\S*)")
_LIMITS = Limits(seconds=10.0, output=1)
"""Of a call that only asks for the version, or tries a processor's name."""

_LISTED = re.compile(r"^  (\S+)\s+- Select the \S+ processor", re.MULTILINE)
"""A name in the list of `-mcpu=help`."""

_UNKNOWN_PROCESSOR = "is not a recognized processor"
_NO_MODEL = "unable to find instruction-level scheduling information"
_NO_TARGET = "unable to get target"


@dataclass(frozen=True)
class Release:
    """An installed llvm-mca; `mc` is the llvm-mc beside it, "" where there is none.

    `banner`: its complete version message, since two builds of one version are different predictors.
    """

    version: str
    banner: str
    mca: str
    mc: str

    @property
    def number(self) -> str:
        """The major version, as in names of packages."""
        return self.version.partition(".")[0]


def list_releases() -> list[Release]:
    """Every release on the PATH and where packages install them, oldest first; one per version."""
    watched = [*_path(), *(Path("/", pattern).parents[_DEPTH] for pattern in _PLACES)]
    return list(_releases_at(tuple((str(place), _changed_at(place)) for place in watched)))


@lru_cache(maxsize=8)
def _releases_at(_watched: tuple[tuple[str, int], ...]) -> tuple[Release, ...]:
    """The releases; searched again when one of the directories has changed."""
    by_banner: dict[str, Release] = {}
    for path in _candidates():
        release = _probe_version(str(path), path.stat().st_mtime_ns)
        if release is not None:
            by_banner.setdefault(release.banner, release)
    return tuple(
        sorted(by_banner.values(), key=lambda row: [int(part) for part in re.findall(r"\d+", row.version)])
    )


def release_at(path: str) -> Release:
    """The release of a path that a user chose. Raises `PredictorError` for one that may not be chosen."""
    return release_of(check_program("program", path, map(str, _candidates()), INSTALL))


def release_of(program: str) -> Release:
    """The release of an executable. Raises `PredictorError` where it is none."""
    try:
        path = Path(program).resolve(strict=True)
        release = _probe_version(str(path), path.stat().st_mtime_ns)
    except OSError as error:
        raise PredictorError(f"there is no {program}: {error.strerror}; install it: {INSTALL}") from error
    if release is None:
        raise PredictorError(f"{program} does not say which version of LLVM it is: is it llvm-mca?")
    return release


def _path() -> list[Path]:
    return [Path(place) for place in os.environ.get("PATH", "").split(os.pathsep) if place]


def _changed_at(place: Path | str) -> int:
    try:
        return Path(place).stat().st_mtime_ns
    except OSError:
        return 0


def _candidates() -> list[Path]:
    paths = [
        path
        for place in _path()
        for path in (*place.glob(PROGRAM), *place.glob(f"{PROGRAM}-[0-9]*"))
        if os.access(path, os.X_OK)
    ]
    for pattern in _PLACES:
        paths += sorted(path for path in Path("/").glob(f"{pattern}/{PROGRAM}") if os.access(path, os.X_OK))
    return list(dict.fromkeys(path.resolve() for path in paths))


@lru_cache(maxsize=64)
def _probe_version(mca: str, _changed_at: int) -> Release | None:
    """The release of a program by its version message; cached until the file changes."""
    try:
        output = run([mca, "--version"], limits=_LIMITS).stdout.decode(errors="replace")
    except CannotStartError:
        return None
    version = _VERSION.search(output)
    if version is None:
        return None
    lines = [line.strip() for line in output.splitlines() if "version" in line or "build" in line]
    path = Path(mca)
    mc = path.with_name(path.name.replace(PROGRAM, "llvm-mc"))
    return Release(version.group(1), " · ".join(lines), mca, str(mc) if os.access(mc, os.X_OK) else "")


def processors(mca: str) -> tuple[str, ...]:
    """The names that an llvm-mca accepts for `-mcpu`, those of one instruction set after those of another.

    () where it lists none.
    """
    reports = (_probe_processor(mca, side, "help") for _, side in _sides())
    return tuple(dict.fromkeys(name for report in reports for name in _LISTED.findall(report)))


def isa_of_processor(release: Release, cpu: str) -> str:
    """The name of a processor's instruction set, of `generic` the default one.

    Raises:
        PredictorError: The release does not know the processor, or has no model of it.
    """
    tool = f"llvm-mca {release.version}"
    for target, side in _sides():
        report = _probe_processor(release.mca, side, cpu)
        if _NO_MODEL in report:
            *first, last = side.simulated
            raise PredictorError(
                f"cpu: {tool} has no scheduling model of {cpu}, so that it cannot simulate it; "
                f"it has one of {', '.join(first)} and {last}, for example"
            )
        if _UNKNOWN_PROCESSOR not in report and _NO_TARGET not in report:
            return target.name
    raise PredictorError(unknown_processor("cpu", tool, cpu, processors(release.mca)))


def _sides() -> list[tuple[IsaTarget, LlvmSide]]:
    return [(target, side) for target in targets() if (side := target.tools) is not None]


def _probe_processor(mca: str, side: LlvmSide, cpu: str) -> str:
    """llvm-mca's output for one instruction on this processor, or for `help`."""
    return _report(mca, side.triple, cpu, side.probe, _changed_at(mca))


@lru_cache(maxsize=512)
def _report(mca: str, triple: str, cpu: str, line: str, _changed_at: int) -> str:
    """The output, cached until the file changes."""
    command = [mca, f"-mtriple={triple}", f"-mcpu={cpu}", "-iterations=1"]
    try:
        outcome = run(command, f"{line}\n".encode(), limits=_LIMITS)
    except CannotStartError:
        return ""
    return (outcome.stderr + outcome.stdout).decode(errors="replace")
