"""Loops of Debian's arm64 packages, and where predictors for Arm cores disagree about them.

The packages are downloaded by name with a state of apt of their own, so that the packages of this computer
stay as they are, and kept in the directory of temporary files. The answers are compared in pairs: how many
loops both predict, on how many they differ by more than half of their mean, and the schemes whose loops do so
more often than all loops.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import combinations
from pathlib import Path

from benchmarks import MissingDataError, Result
from inference.isa.blocks import block_reader, body_of, schemes_of_bytes
from inference.isa.code.binaries.headers import BinaryFileError
from inference.isa.code.binaries.loops import MAX_CODE_BYTES, Search, loops_in
from inference.isa.code.binaries.program import CompiledProgram, Function, read_program
from inference.isa.targets import AARCH64
from inference.predictors.kinds import KINDS
from inference.predictors.llvm.releases import list_releases
from inference.predictors.protocol import Answer, PredictorError

ARCHITECTURE = "arm64"
PACKAGES = ("libc6", "zlib1g", "libsqlite3-0", "libssl3", "libdav1d6", "libavcodec59", "libstdc++6")
_QUICK_PACKAGES = ("zlib1g", "libsqlite3-0")
_LOOPS, _QUICK_LOOPS = 10_000, 400
_SECONDS = 300  # of a command
_CORES = (("llvm-mca", "cpu", "neoverse-n1"), ("osaca", "arch", "N1"))
_FURTHER_CORES = (
    ("llvm-mca", "cpu", "cortex-a72"),
    ("osaca", "arch", "A72"),
    ("llvm-mca", "cpu", "neoverse-v2"),
    ("osaca", "arch", "V2"),
)
_MIN_DIFFERENCE = 0.5  # of the mean of two predictions
_MIN_LOOPS = 10  # with a scheme that is named
_MAX_SCHEMES = 20


def run(quick: bool) -> Iterator[Result]:
    """The number of loops, then for each pair of predictors of one core the share that they predict apart."""
    packages = _QUICK_PACKAGES if quick else PACKAGES
    loops, more = _loops_of(packages)
    yield Result("loops", len(loops), "loops", more=more)
    chosen = random.Random(1).sample(loops, min(len(loops), _QUICK_LOOPS if quick else _LOOPS))
    for pair in (_CORES,) if quick else (_CORES, _FURTHER_CORES[:2], _FURTHER_CORES[2:]):
        columns = {name: answers for tool in pair for name, answers in _answers(tool, chosen)}
        for first, second in combinations(columns, 2):
            yield _difference(first, second, chosen, columns)


def _loops_of(packages: Sequence[str]) -> tuple[list[bytes], dict[str, object]]:
    """The distinct loops of the packages' programs, in order."""
    loops: dict[bytes, None] = {}
    counts: Counter[str] = Counter()
    for name in packages:
        for content in _programs(_package(name)):
            program = read_program(content)
            search = Search()
            for functions in _portions(program):
                loops_of_portion = loops_in(program, functions, search, block_reader(program.isa))
                loops |= dict.fromkeys(loop.code for loop in loops_of_portion)
            counts[name] += search.code // 4
    return list(loops), {"instructions": dict(counts)}


def _portions(program: CompiledProgram) -> Iterator[list[Function]]:
    """The functions, in portions that are searched at a time."""
    portion: list[Function] = []
    size = 0
    for function in program.functions():
        if portion and size + function.size > MAX_CODE_BYTES:
            yield portion
            portion, size = [], 0
        portion.append(function)
        size += function.size
    yield portion


def _programs(package: Path) -> Iterator[bytes]:
    """The programs and libraries of a package that are for AArch64."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True, timeout=_SECONDS)
        for path in sorted(Path(folder).rglob("*")):
            if path.is_symlink() or not path.is_file():
                continue
            content = path.read_bytes()
            try:
                program = read_program(content)
            except BinaryFileError:
                continue
            if program.isa == AARCH64:
                yield content


def _package(name: str) -> Path:
    """The downloaded package. Raises `MissingDataError`."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise MissingDataError("Debian's apt-get and dpkg-deb download and unpack the packages")
    folder = Path(tempfile.gettempdir()) / f"debian-{ARCHITECTURE}"
    lists = folder / "lists"
    options = [
        *("-o", f"APT::Architecture={ARCHITECTURE}"),
        *("-o", f"APT::Architectures::={ARCHITECTURE}"),
        *("-o", f"Dir::State::lists={lists}"),
        *("-o", "Dir::State::status=/dev/null"),
        *("-o", "Dir::Cache::pkgcache="),
        *("-o", "Dir::Cache::srcpkgcache="),
    ]
    if not lists.exists():
        (lists / "partial").mkdir(parents=True)
        _call(["apt-get", "update", *options], folder)
    if not (packages := sorted(folder.glob(f"{name}_*.deb"))):
        _call(["apt-get", "download", *options, name], folder)
        packages = sorted(folder.glob(f"{name}_*.deb"))
    if not packages:
        raise MissingDataError(f"apt-get has no package {name} for {ARCHITECTURE}")
    return packages[-1]


def _call(command: Sequence[str], folder: Path) -> None:
    called = subprocess.run(
        command, check=False, cwd=folder, capture_output=True, text=True, timeout=_SECONDS
    )
    if called.returncode:
        lines = called.stderr.strip().splitlines() or ["it says nothing"]
        raise MissingDataError(f"{' '.join(command[:2])} failed: {lines[-1]}")


def _answers(tool: tuple[str, str, str], loops: Sequence[bytes]) -> Iterator[tuple[str, list[Answer]]]:
    """The answers of every installed release of a tool for this core, by its name."""
    kind, option, core = tool
    releases = [{"release": release.number} for release in list_releases()] if kind == "llvm-mca" else [{}]
    codes = loops if KINDS[kind].takes_jumps else [body_of(code, AARCH64) for code in loops]
    for options in releases:
        try:
            predictor = KINDS[kind].predictor({**options, option: core})
            with closing(predictor):
                yield predictor.name, predictor.predict(codes)
        except PredictorError:
            continue


def _difference(first: str, second: str, loops: Sequence[bytes], columns: dict[str, list[Answer]]) -> Result:
    answered = total = 0
    differing: Counter[str | None] = Counter()
    having: Counter[str | None] = Counter()
    for code, answer, other in zip(loops, columns[first], columns[second], strict=True):
        if not (answer.cycles and other.cycles):
            continue
        answered += 1
        differs = abs(answer.cycles - other.cycles) > _MIN_DIFFERENCE * (answer.cycles + other.cycles) / 2
        total += differs
        schemes = {*schemes_of_bytes(code, AARCH64)}
        having.update(schemes)
        differing.update(schemes if differs else ())
    share = total / answered if answered else 0.0
    excess = {
        scheme: differing[scheme] - share * count
        for scheme, count in having.items()
        if scheme is not None and count >= _MIN_LOOPS
    }
    ranked = sorted(excess, key=lambda scheme: -excess[scheme])[:_MAX_SCHEMES]
    more = {
        "loops": len(loops),
        "predicted by both": answered,
        "schemes": {scheme: [differing[scheme], having[scheme]] for scheme in ranked},
    }
    return Result(f"{first} / {second}", round(100 * share, 2), "%", more=more)
