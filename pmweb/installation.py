"""Facts about this installation, and the optional programs on this host, for the page About.

No function fails because of an absent, broken or slow program: that is a fact, too.
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
_VERSION_SECONDS = 3.0
_TCP_SINCE = 4  # Landlock
_VERSION = re.compile(r"(?<!\d)\d+(?:\.\d+)+")


CHROMIUMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Possible commands; Debian's headless build comes first, as it needs less."""

_TIMEOUT = 2.0


@dataclass(frozen=True)
class OptionalProgram:
    """An optional program: its use here, how to find it, and how to install it on Debian.

    `commands` are looked up in the PATH and beside this Python; `places` are glob patterns below the root
    directory. All versions that exist are listed.
    """

    name: str
    purpose: str
    commands: tuple[str, ...]
    install: str
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class InstalledProgram:
    """An executable and its version, "" if it does not print one."""

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


def find_programs(
    programs: Iterable[OptionalProgram] = PROGRAMS,
) -> list[tuple[OptionalProgram, list[InstalledProgram]]]:
    """Every program with its executables on this host; versions are queried concurrently."""
    places = [(program, _executables(program)) for program in programs]
    with ThreadPoolExecutor(max_workers=8, initializer=METER.set, initargs=(METER.get(),)) as pool:
        return [
            (program, list(pool.map(_probe, [(str(path), path.stat().st_mtime_ns) for path in paths])))
            for program, paths in places
        ]


def _executables(program: OptionalProgram) -> list[Path]:
    """Distinct executables of a program; links to the same file count once."""
    bin_directory = str(Path(sys.executable).parent)
    candidates = [
        shutil.which(command) or shutil.which(command, path=bin_directory) for command in program.commands
    ]
    paths = [Path(candidate) for candidate in candidates if candidate]
    for place in program.places:
        paths += sorted(path for path in Path("/").glob(place) if path.is_file())
    distinct: dict[Path, Path] = {}
    for path in paths:
        distinct.setdefault(path.resolve(), path)
    return list(distinct.values())


def _probe(path_and_time: tuple[str, int]) -> InstalledProgram:
    path, changed = path_and_time
    return InstalledProgram(path, _version_of(path, changed))


@lru_cache(maxsize=64)
def _version_of(path: str, _changed: int) -> str:
    """The version that `path --version` prints, "" without one; cached until the file changes."""
    try:
        answer = run([path, "--version"], limits=Limits(seconds=_VERSION_SECONDS, memory=1 << 18, output=1))
    except CannotStartError:
        return ""
    if answer.timed_out:
        return ""
    match = _VERSION.search((answer.stdout + answer.stderr).decode(errors="replace"))
    return match.group() if match else ""


def sections() -> dict[str, list[tuple[str, str]]]:
    """{section of About: (label, value) pairs}."""
    return {
        "facts": facts(),
        "access": access(),
        "computing": computing(),
        "containment": containment(),
        "measuring": measuring(),
        "libraries": library_versions(),
    }


def library_versions() -> list[tuple[str, str]]:
    """(library, version); the version is "" for a missing one."""
    versions = []
    for name in LIBRARIES:
        try:
            versions.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            versions.append((name, ""))
    return versions


def facts() -> list[tuple[str, str]]:
    """(label, value) of the product, the platform, and the servers in use."""
    return [
        ("pmweb", __version__),
        ("Python", f"{platform.python_version()} ({sys.executable})"),
        ("Operating system", platform.platform()),
        ("Database", database_server()),
        ("Between processes", message_server()),
        ("Data directory", str(settings.HOME)),
    ]


def computing() -> list[tuple[str, str]]:
    """(label, value) of processors and the Dask cluster, which is queried if there is one."""
    return [
        ("Processors", f"{len(os.sched_getaffinity(0))} of this computer"),
        ("Dask", condition(settings.DASK)),
    ]


def access() -> list[tuple[str, str]]:
    """(label, value) of the permission to read, and of limits per user."""
    public = "all visitors" if settings.PUBLIC_READING else "users with an account"
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
    """(label, value) of the barriers around predictors and llvm-mc on this kind of host."""
    try:
        abilities = host()
    except CannotStartError as error:
        return [("Foreign programs", f"cannot be started: {error}")]
    users = "those of the site's user"
    alone = "an own user namespace" if abilities.namespaces else ""
    filtered = "filtered system calls" if abilities.system_calls else ""
    files = f"Landlock {abilities.landlock}" if abilities.landlock else ""
    tcp = f"{files} (TCP)" if abilities.landlock >= _TCP_SINCE else ""
    view = "a read-only view of its own" if abilities.mounts else ""
    processes = "user namespaces or seccomp"
    return [
        ("User", _user_of_programs(abilities)),
        ("Files", _barriers(files, lack="Linux 5.13 with Landlock on", open_to="all of the site's user")),
        ("Changes of files", _barriers(files, view, lack="Landlock or mount namespaces", open_to=users)),
        ("Scratch folders", _scratch(abilities)),
        ("Network", _barriers(alone, filtered, tcp, lack=processes, open_to="open to them")),
        ("Other processes", _barriers(alone, filtered, lack=processes, open_to=users)),
        ("System calls", _barriers(filtered, lack="seccomp on x86-64, AArch64 or RISC-V", open_to="all")),
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


def _barriers(*by: str, lack: str, open_to: str) -> str:
    """Barriers that close something to foreign programs, or the statement that there are none."""
    barriers = ", ".join(filter(None, by))
    return f"closed by {barriers}" if barriers else f"{open_to}: this host lacks {lack}"


def measuring() -> list[tuple[str, str]]:
    """(label, value) of this version's agent, and of the machine of the agent on this computer."""
    python = ".".join(map(str, OLDEST_PYTHON))
    agent = ("Agent", f"{__version__}, protocol {PROTOCOL}; runs with Python {python} or newer on Linux")
    machine = local_machine()
    if machine is None:
        return [agent, ("This computer", "no agent has been started here yet")]
    condition = condition_of(machine)
    labels = [
        ("This computer", " · ".join(filter(None, (machine.name, condition.word, condition.note)))),
        ("Processor", machine.cpu),
        ("Counts", counts_of(machine)),
        ("Foreign code", _confinement(machine.facts)),
    ]
    return [agent, *((label, value) for label, value in labels if value)]


def _confinement(facts: Json) -> str:
    confinement = facts.get("confinement")
    if not confinement:
        return ""
    filtered = confinement.get("system_calls")
    filter_text = "its system calls are filtered" if filtered else "this kernel filters no system calls"
    bypass = confinement.get("store_bypass")
    return f"{filter_text}; speculative store bypass: {bypass}" if bypass else filter_text


def database_server(*, named: bool = True) -> str:
    """The database with its version and mode, and its name if `named`."""
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
        version, encrypted, connections, max_connections = cursor.fetchone()
    encryption = "TLS" if encrypted else "not encrypted"
    name = f"database {database_name()}, " if named else ""
    used = f"{connections} of {max_connections} connections used by this site"
    return f"PostgreSQL {version.split()[0]}, {name}{encryption}, {used}"


def message_server(*, named: bool = True) -> str:
    """The server of wake-ups between computers, and whether it answers; its address if `named`."""
    url = settings.REDIS_URL
    if not url:
        return "by local sockets, within this computer; PMWEB_REDIS_URL=redis://host:6379/0 for several"
    import redis  # noqa: PLC0415  an optional library

    split = urlsplit(url)
    address = f"{split.hostname}:{split.port or 6379}" if split.hostname else split.path
    location = f" at {address}" if named else ""
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=_TIMEOUT, socket_timeout=_TIMEOUT) as client:
            version = client.info("server")["redis_version"]
            started = time.perf_counter()
            client.ping()
            milliseconds = (time.perf_counter() - started) * 1000
    except redis.RedisError as error:
        reason = error if named else type(error).__name__
        return f"Redis{location} cannot be used ({reason}): events are found by polling, twice a second"
    return f"Redis {version}{location}, answers in {milliseconds:.1f} ms"
