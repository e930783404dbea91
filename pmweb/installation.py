"""What this installation consists of, and which optional programs are found on this host.

Looking never fails: a program that is absent, broken or slow is a finding like any other.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection

from inference.agent.packing import OLDEST_PYTHON
from inference.agent.protocol import PROTOCOL
from inference.cluster.connection import condition
from inference.containment import METER, CannotStartError, Limits, host, run
from inference.containment.access import READ_VARIABLE
from inference.core.protocols import Json
from inference.features.machines.machines.query import condition_of, counts_of, local_machine
from inference.sandbox.confinement import Abilities
from inference.sandbox.users import UNPRIVILEGED
from pmweb import __version__
from pmweb.launcher.prepare import database_name

LIBRARIES = (
    "django",
    "channels",
    "daphne",
    "django-csp",
    "whitenoise",
    "numpy",
    "scipy",
    "numba",
    "plotly",
    "z3-solver",
    "iced-x86",
    "websockets",
    "distributed",
)
_ASK_SECONDS = 3.0
_TCP_SINCE = 4  # Landlock
_VERSION = re.compile(r"(?<!\d)\d+(?:\.\d+)+")


CHROMIUMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""What it may be called; Debian's build without a window needs less."""

_PATIENCE = 2.0


@dataclass(frozen=True)
class OptionalProgram:
    """An optional program: how to find it, what it is for here, how to get it on Debian.

    `commands` are names looked up on the PATH and beside this Python; `places` are patterns of paths below
    the root directory. All of the versions that are found count, not the first alone.
    """

    name: str
    purpose: str
    commands: tuple[str, ...]
    install: str
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class InstalledProgram:
    """One executable and what it says its version is; `version` is empty where it does not say."""

    path: str
    version: str


PROGRAMS = (
    OptionalProgram(
        "Chromium",
        "runs this product's browser tests",
        CHROMIUMS,
        "apt install chromium",
    ),
    OptionalProgram(
        "llvm-mc",
        "assembler of LLVM: makes loop bodies for AArch64 machines, reads blocks in AT&T syntax",
        ("llvm-mc",),
        "apt install llvm",
        ("usr/bin/llvm-mc-*", "usr/lib/llvm-*/bin/llvm-mc"),
    ),
    OptionalProgram(
        "llvm-tblgen",
        "reads LLVM's sources (PMWEB_LLVM_SOURCES), which core models are exported as patches of",
        ("llvm-tblgen",),
        "apt install llvm",
        ("usr/bin/llvm-tblgen-*", "usr/lib/llvm-*/bin/llvm-tblgen"),
    ),
    OptionalProgram(
        "PostgreSQL",
        "database of a site on several computers (PMWEB_DATABASE_URL); one computer does with SQLite",
        ("postgres",),
        "apt install postgresql",
        ("usr/lib/postgresql/*/bin/postgres",),
    ),
    OptionalProgram(
        "Redis",
        "wakes processes on other computers (PMWEB_REDIS_URL); one computer needs none",
        ("redis-server",),
        "apt install redis-server",
    ),
    OptionalProgram(
        "perf",
        "reads a CPU's event counters; measuring needs none of them",
        ("perf",),
        "apt install linux-perf",
    ),
)


def find_all(
    programs: Iterable[OptionalProgram] = PROGRAMS,
) -> list[tuple[OptionalProgram, list[InstalledProgram]]]:
    """Every program with the executables that were found for it, asked for their versions side by side."""
    places = [(program, _executables(program)) for program in programs]
    with ThreadPoolExecutor(max_workers=8, initializer=METER.set, initargs=(METER.get(),)) as pool:
        return [
            (program, list(pool.map(_ask, [(str(path), path.stat().st_mtime_ns) for path in paths])))
            for program, paths in places
        ]


def _executables(program: OptionalProgram) -> list[Path]:
    """The distinct executables of a program; links to the same file count once."""
    here = str(Path(sys.executable).parent)
    candidates = [shutil.which(command) or shutil.which(command, path=here) for command in program.commands]
    paths = [Path(candidate) for candidate in candidates if candidate]
    for place in program.places:
        paths += sorted(path for path in Path("/").glob(place) if path.is_file())
    distinct: dict[Path, Path] = {}
    for path in paths:
        distinct.setdefault(path.resolve(), path)
    return list(distinct.values())


def _ask(known: tuple[str, int]) -> InstalledProgram:
    path, changed = known
    return InstalledProgram(path, _version_of(path, changed))


@lru_cache(maxsize=64)
def _version_of(path: str, _changed: int) -> str:
    """The version that `path --version` prints; remembered until the file changes."""
    try:
        answer = run([path, "--version"], limits=Limits(seconds=_ASK_SECONDS, memory=1 << 18, output=1))
    except CannotStartError:
        return ""
    if answer.timed_out:
        return ""
    match = _VERSION.search((answer.stdout + answer.stderr).decode(errors="replace"))
    return match.group() if match else ""


def sections() -> dict[str, list[tuple[str, str]]]:
    """What About says of the installation, each section as labels and values."""
    return {
        "facts": facts(),
        "access": access(),
        "computing": computing(),
        "containment": containment(),
        "measuring": measuring(),
        "libraries": library_versions(),
    }


def library_versions() -> list[tuple[str, str]]:
    """Name and version of each library the product is built on; an empty version where it is missing."""
    found = []
    for name in LIBRARIES:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            found.append((name, ""))
    return found


def facts() -> list[tuple[str, str]]:
    """The product, the platform, and the servers that it uses, as label and value."""
    return [
        ("pmweb", __version__),
        ("Python", f"{platform.python_version()} ({sys.executable})"),
        ("Operating system", platform.platform()),
        ("Database", database_server()),
        ("Between processes", message_server()),
        ("Data directory", str(settings.HOME)),
    ]


def computing() -> list[tuple[str, str]]:
    """Who computes for runs, as label and value. Asks the Dask scheduler, where there is one."""
    return [
        ("Processors", f"{len(os.sched_getaffinity(0))} of this computer"),
        ("Dask", condition(settings.DASK)),
    ]


def access() -> list[tuple[str, str]]:
    """Who may read here, and how much a user may have at a time, as label and value."""
    public = "everybody who comes" if settings.PUBLIC_READING else "who has an account"
    return [
        ("Reading", f"{public} (PMWEB_PUBLIC_READING)"),
        ("Unfinished runs of a user", _at_most(settings.RUNS_PER_USER)),
        ("An uploaded file", _at_most(settings.UPLOAD_LIMIT_BYTES >> 20, " MiB")),
        ("Waiting files of a user", _at_most(settings.UPLOADS_PER_USER)),
        ("These together", _at_most(settings.UPLOADED_BYTES_PER_USER >> 20, " MiB")),
    ]


def _at_most(limit: int, unit: str = "") -> str:
    return f"at most {limit:,}{unit}" if limit else "no limit"


def containment() -> list[tuple[str, str]]:
    """What keeps predictors and llvm-mc from all else on the worker's kind of host, as label and value."""
    try:
        here = host()
    except CannotStartError as error:
        return [("Foreign programs", f"cannot be started: {error}")]
    users = "those of the site's user"
    alone = "an own user namespace" if here.namespaces else ""
    filtered = "filtered system calls" if here.system_calls else ""
    files = f"Landlock {here.landlock}" if here.landlock else ""
    tcp = f"{files} (TCP)" if here.landlock >= _TCP_SINCE else ""
    view = "a read-only view of its own" if here.mounts else ""
    return [
        ("User", _user_of_programs(here)),
        ("Files", _kept(files, lack="Linux 5.13 with Landlock on", open_to="all of the site's user")),
        ("Changes of files", _kept(files, view, lack="Landlock or mount namespaces", open_to=users)),
        ("Scratch folders", _scratch(here)),
        ("Network", _kept(alone, filtered, tcp, lack="user namespaces or seccomp", open_to="open to them")),
        ("Other processes", _kept(alone, filtered, lack="user namespaces or seccomp", open_to=users)),
        ("System calls", _kept(filtered, lack="seccomp on x86-64 or AArch64", open_to="all")),
        ("Namespaces", alone or "none: this host keeps user namespaces from the site"),
        ("More directories", os.environ.get(READ_VARIABLE, "") or f"none ({READ_VARIABLE})"),
    ]


def _user_of_programs(host: Abilities) -> str:
    if os.geteuid() != 0:
        return "the site's own"
    if host.unprivileged:
        return f"{UNPRIVILEGED}, who owns nothing; the site is root"
    return "root, as the site is, which cannot become another user: run it as an ordinary user"


def _scratch(host: Abilities) -> str:
    if host.mounts:
        return "in memory, at most as large as a program's memory"
    return "on disk, not bounded: this host lacks mount namespaces or Linux 5.12"


def _kept(*by: str, lack: str, open_to: str) -> str:
    """What closes something to foreign programs, or that nothing does."""
    found = ", ".join(filter(None, by))
    return f"closed by {found}" if found else f"{open_to}: this host lacks {lack}"


def measuring() -> list[tuple[str, str]]:
    """The agent of this version, and what the one on this computer says of it, as label and value."""
    python = ".".join(map(str, OLDEST_PYTHON))
    agent = ("Agent", f"{__version__}, protocol {PROTOCOL}; runs with Python {python} or newer on Linux")
    machine = local_machine()
    if machine is None:
        return [agent, ("This computer", "no agent has been started here yet")]
    condition = condition_of(machine)
    told = [
        ("This computer", " · ".join(filter(None, (machine.name, condition.word, condition.note)))),
        ("Processor", machine.cpu),
        ("Counts", counts_of(machine)),
        ("Foreign code", _confinement(machine.facts)),
    ]
    return [agent, *((label, value) for label, value in told if value)]


def _confinement(facts: Json) -> str:
    known = facts.get("confinement")
    if not known:
        return ""
    filtered = known.get("system_calls")
    told = "its system calls are filtered" if filtered else "this kernel filters no system calls"
    bypass = known.get("store_bypass")
    return f"{told}; speculative store bypass: {bypass}" if bypass else told


def database_server(*, named: bool = True) -> str:
    """The database in use, with its version and what matters of how it is used; its name, if `named`."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA journal_mode")
            journal = cursor.fetchone()[0]
            mode = settings.DATABASES["default"]["OPTIONS"]["transaction_mode"]
            return f"SQLite {sqlite3.sqlite_version}, journal {journal}, transactions {mode}"
        cursor.execute(
            "SELECT current_setting('server_version'),"
            " (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()),"
            " (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()),"
            " current_setting('max_connections')"
        )
        version, encrypted, connections, most = cursor.fetchone()
    how = "TLS" if encrypted else "not encrypted"
    name = f"database {database_name()}, " if named else ""
    return (
        f"PostgreSQL {version.split()[0]}, {name}{how}, {connections} of {most} connections used by this site"
    )


def message_server(*, named: bool = True) -> str:
    """What carries wake-up calls between computers, and whether it answers; where it is, if `named`."""
    url = settings.REDIS_URL
    if not url:
        return "by local sockets, within this computer; PMWEB_REDIS_URL=redis://host:6379/0 for several"
    import redis  # noqa: PLC0415  only there where the site is to be spread over computers

    split = urlsplit(url)
    address = f"{split.hostname}:{split.port or 6379}" if split.hostname else split.path
    place = f" at {address}" if named else ""
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=_PATIENCE, socket_timeout=_PATIENCE) as client:
            version = client.info("server")["redis_version"]
            began = time.perf_counter()
            client.ping()
            milliseconds = (time.perf_counter() - began) * 1000
    except redis.RedisError as error:
        why = error if named else type(error).__name__
        return f"Redis{place} cannot be used ({why}): events are found by polling, twice a second"
    return f"Redis {version}{place}, answers in {milliseconds:.1f} ms"
