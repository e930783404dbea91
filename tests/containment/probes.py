"""Runs the probes of `prober` in the sandbox of foreign programs, and looks at what they changed.

Besides this host's own sandbox there are weaker ones: without mount namespaces, with older versions of
Landlock, and without it. They show that each wall holds by itself.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from inference.sandbox import confinement, system_calls, users
from inference.sandbox.confinement import Abilities
from tests.containment import prober
from tests.containment.prober import DONE, LINK, LOST, OPERATIONS, WITHOUT_TRACE

_ROOT = str(Path(__file__).parents[2])
_NEWER = {"setxattrat": 463, "file_setattr": 469}
_SCRATCH_BYTES = 64 << 20
_CONFINED = """
import json, os, sys
sys.path.append(sys.argv[1])
from inference.sandbox import files, confinement
request = json.loads(sys.argv[2])
host = confinement.Abilities(**request["host"])
files.landlock_version = lambda: host.landlock
os.chdir(request["places"]["scratch"])
confinement.confine(confinement.AllowedFiles(**request["places"]), host)
os.execv(sys.argv[3], sys.argv[3:])
"""


@dataclass(frozen=True)
class Probe:
    """An operation and the path that it is tried on."""

    operation: str
    target: str


@dataclass(frozen=True)
class ProbedFiles:
    """What the probes aim at: files of the very user who probes, most of which anybody may write to."""

    home: Path

    @property
    def outside(self) -> Path:
        """Files that the sandbox does not know of."""
        return self.home / "outside"

    @property
    def installation(self) -> Path:
        """Files that a program may read."""
        return self.home / "installation"

    @property
    def prober(self) -> Path:
        return self.installation / "prober.py"

    @property
    def targets(self) -> list[str]:
        """Paths to them, straight and crooked."""
        outside, installation = self.outside, self.installation
        return [
            *(str(outside / "open"), str(outside / "private"), str(outside / "directory")),
            *(str(installation / "data"), str(installation), str(installation / "directory")),
            f"{LINK}{outside / 'open'}",
            f"{LINK}{installation / 'data'}",
            f"/proc/self/root{outside}/open",
        ]

    @property
    def state(self) -> dict[str, object]:
        """All that can be told of each file, by its path; the time of reading is not among it."""
        return {str(path): _facts(path) for path in (self.home, *sorted(self.home.rglob("*")))}

    def probes(self, host: Abilities) -> list[Probe]:
        """Each operation that a sandbox is meant to refuse, on each target."""
        is_bounded = host.landlock or host.mounts
        operations = [name for name in OPERATIONS if is_bounded or name not in LOST]
        return [Probe(*pair) for pair in itertools.product(operations, self.targets)]


@contextmanager
def probed_files() -> Iterator[ProbedFiles]:
    """Files to aim at, below the directory for temporary files, which everybody may enter."""
    with tempfile.TemporaryDirectory(prefix="probed-") as home:
        files = ProbedFiles(Path(home))
        for place in (files.outside, files.installation):
            (place / "directory").mkdir(parents=True)
            for name, mode in (("open", 0o666), ("data", 0o666), ("private", 0o600)):
                (place / name).write_text("rows")
                (place / name).chmod(mode)
        shutil.copy(prober.__file__, files.prober)
        for path in (files.home, *files.home.rglob("*")):
            if path.is_dir():
                path.chmod(0o777)
            if users.is_root():
                os.chown(path, users.UNPRIVILEGED, users.UNPRIVILEGED)
        yield files


def sandboxes(host: Abilities) -> dict[str, Abilities]:
    """This host's own sandbox and weaker ones, by name."""
    weaker = {"this host's": host}
    if host.landlock:
        alone = dataclasses.replace(host, mounts=False, namespaces=False)
        older = [version for version in (1, 2, 3, 5) if version < host.landlock]
        weaker["Landlock and filter"] = alone
        weaker |= {
            f"Landlock {version} and filter": dataclasses.replace(alone, landlock=version)
            for version in older
        }
    weaker["filter"] = dataclasses.replace(host, landlock=0, mounts=False, namespaces=False)
    if host.mounts:
        weaker["mounts and filter"] = dataclasses.replace(host, landlock=0)
        if host.landlock:
            weaker["Landlock and mounts"] = dataclasses.replace(host, system_calls=False)
    if users.is_root() and users.is_closed(_interpreter()):  # only with Landlock may programs read there
        weaker = {name: sandbox for name, sandbox in weaker.items() if sandbox.landlock}
    return weaker


def _interpreter() -> str:
    """The system's own where that of this process lies in a directory that others may not enter."""
    own = str(Path(sys.executable).resolve())
    system = shutil.which("python3", path=os.defpath)
    return system if system and users.is_closed(own) else own


def outcomes(
    files: ProbedFiles, probes: Sequence[Probe], host: Abilities, per_program: int
) -> dict[Probe, str]:
    """What each probe says of itself, so many tried by one program."""
    said: dict[Probe, str] = {}
    for start in range(0, len(probes), per_program):
        said |= _run(files, probes[start : start + per_program], host)
    return said


def failures(files: ProbedFiles, probes: Sequence[Probe], host: Abilities, per_program: int) -> list[str]:
    """What the probes could do that they must not; in words."""
    before = files.state
    said = outcomes(files, probes, host, per_program)
    after = files.state
    flaws = [
        f"{path}: {before.get(path)} became {after.get(path)}"
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    ]
    flaws += [f"{probe}: no outcome" for probe in probes if probe not in said]
    if host.system_calls:
        flaws += [
            f"{probe.operation} of {probe.target} was done"
            for probe, outcome in said.items()
            if outcome == DONE and probe.operation in WITHOUT_TRACE
        ]
    return flaws


def _run(files: ProbedFiles, probes: Iterable[Probe], host: Abilities) -> dict[Probe, str]:
    with tempfile.TemporaryDirectory(prefix="pmweb-tool-") as scratch:
        places = {
            "reads": [
                *confinement.SYSTEM,
                *confinement.COMMON_FILES,
                sys.base_prefix,
                str(files.installation),
            ],
            "writes": [scratch],
            "scratch": scratch,
            "scratch_bytes": _SCRATCH_BYTES,
        }
        request = json.dumps({"host": dataclasses.asdict(host), "places": places})
        numbers = {name: number for name in system_calls.NAMES if (number := system_calls.number_of(name))}
        probing = {"numbers": numbers | _NEWER, "probes": [dataclasses.astuple(probe) for probe in probes]}
        command = [sys.executable, "-IS", "-c", _CONFINED, _ROOT, request]
        command += [_interpreter(), "-IS", str(files.prober), json.dumps(probing)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"a program of probes ended with {ended.returncode}: {ended.stderr[-2000:]}")
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    return {Probe(operation, target): outcome for operation, target, outcome in lines}


def _facts(path: Path) -> tuple[object, ...]:
    facts = path.lstat()
    content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    return (
        *(oct(facts.st_mode), facts.st_uid, facts.st_gid, facts.st_size, facts.st_nlink),
        *(facts.st_mtime_ns, facts.st_ctime_ns, sorted(os.listxattr(path, follow_symlinks=False)), content),
    )
