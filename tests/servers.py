"""Private servers from installed packages: on free ports, in directories of their own, gone with the tests.

What is not installed is a reason to skip, in words.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import psycopg
import redis
from psycopg import sql

from pmweb.launcher.supervisor import tie_to_parent
from tests.launched import wait_until

PASSWORD = "a secret: with / and @"
_USER = "pmweb"
_START_SECONDS = 60.0


class NotInstalledError(Exception):
    """A program is missing; the message says which, and how to get it."""


def program(name: str, *places: str, package: str) -> str:
    """Where an installed program is. Raises `NotInstalledError`."""
    found = [shutil.which(name), *(str(path) for place in places for path in sorted(Path("/").glob(place)))]
    for path in found:
        if path:
            return path
    raise NotInstalledError(f"{name} is not installed: apt install {package}")


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody has at the moment."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


class Server:
    """A process with a directory. PostgreSQL refuses to be root, so as root it is somebody else."""

    def __init__(self, name: str) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix=f"pmweb-{name}-"))
        self.user = _other_user() if os.geteuid() == 0 else None
        if self.user:
            shutil.chown(self.directory, self.user)
        self.process: subprocess.Popen[bytes] | None = None

    def write(self, name: str, text: str) -> Path:
        """A file that the server's user can read, whatever the umask of this process is."""
        path = self.directory / name
        path.write_text(text)
        if self.user:
            shutil.chown(path, self.user)
        return path

    def call(self, *command: str) -> None:
        """Carry out a command as the server's user, and complain with its words."""
        done = subprocess.run(
            command, user=self.user, cwd=self.directory, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def spawn(self, *command: str) -> None:
        """Start the server; it dies with this process."""
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                user=self.user,
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=partial(tie_to_parent, os.getpid()),  # noqa: PLW1509
            )

    def end(self, number: signal.Signals) -> None:
        """Signal the server and wait for its end."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(_START_SECONDS)

    def remove(self) -> None:
        """End it, whatever it does, and leave nothing."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(_START_SECONDS)
        shutil.rmtree(self.directory, ignore_errors=True)


class PostgreSQL(Server):
    """A cluster with passwords that listens on `hosts`; each test gets a copy of a prepared database."""

    def __init__(self, *hosts: str) -> None:
        place = "usr/lib/postgresql/*/bin/"
        self.server = program("postgres", f"{place}postgres", package="postgresql")
        initdb = program("initdb", f"{place}initdb", package="postgresql")
        super().__init__("postgresql")
        self.hosts, self.port = hosts or ("127.0.0.1",), free_port()
        password = self.write("password", PASSWORD)
        self.call(
            *(initdb, "-D", str(self.directory / "data"), "-U", _USER, "-E", "UTF8", "--locale=C.UTF-8"),
            *("--no-sync", "--auth=scram-sha-256", f"--pwfile={password}"),
        )
        with (self.directory / "data/pg_hba.conf").open("a") as rules:
            rules.write("host all all 10.0.0.0/8 scram-sha-256\n")

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = {
            "listen_addresses": ",".join(self.hosts),
            "port": str(self.port),
            "unix_socket_directories": str(self.directory),
            "fsync": "off",  # the computer itself does not crash
            "shared_buffers": "32MB",
            "log_lock_waits": "on",
        }
        settings = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        self.spawn(self.server, "-D", str(self.directory / "data"), *settings)
        wait_until(self.answers, _START_SECONDS, f"PostgreSQL\n{(self.directory / 'log').read_text()}")

    def answers(self) -> bool:
        """Whether it takes connections, by its local socket: its network may be another one than ours."""
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        """A connection of the test itself, past the network."""
        return psycopg.connect(
            host=str(self.directory),
            port=self.port,
            user=_USER,
            password=PASSWORD,
            dbname=database,
            autocommit=True,
        )

    def copy(self, template: str = "template1") -> str:
        """A new database like the template; its name."""
        name = f"test_{secrets.token_hex(6)}"
        with self.connect() as connection:
            words = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
            connection.execute(words.format(sql.Identifier(name), sql.Identifier(template)))
        return name

    def drop(self, database: str) -> None:
        """Remove a database, whoever is still connected."""
        with self.connect() as connection:
            words = sql.SQL("DROP DATABASE {} WITH (FORCE)")
            connection.execute(words.format(sql.Identifier(database)))

    def cut_connections(self, database: str) -> int:
        """End every connection to a database but this one; how many there were."""
        with self.connect() as connection:
            ended = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [database]
            )
            return len(ended.fetchall())

    def environment(self, database: str) -> dict[str, str]:
        """How a site is told of it: in parts, so that the password needs no quoting."""
        return {
            "PMWEB_DATABASE_HOST": self.hosts[0],
            "PMWEB_DATABASE_PORT": str(self.port),
            "PMWEB_DATABASE_NAME": database,
            "PMWEB_DATABASE_USER": _USER,
            "PMWEB_DATABASE_PASSWORD": PASSWORD,
        }


class Redis(Server):
    """A Redis that keeps nothing, with a password, on `hosts`."""

    def __init__(self, *hosts: str) -> None:
        self.server = program("redis-server", package="redis-server")
        super().__init__("redis")
        self.hosts, self.port = hosts or ("127.0.0.1",), free_port()

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.spawn(
            *(self.server, "--port", str(self.port), "--bind", *self.hosts, "--dir", str(self.directory)),
            *("--unixsocket", str(self.directory / "socket"), "--unixsocketperm", "777"),
            *("--requirepass", "secret", "--save", "", "--appendonly", "no"),
        )
        wait_until(self.answers, _START_SECONDS, f"Redis\n{(self.directory / 'log').read_text()}")

    def client(self) -> redis.Redis:
        """A connection of the test itself, past the network."""
        return redis.Redis(unix_socket_path=str(self.directory / "socket"), password="secret")

    def answers(self) -> bool:
        """Whether it takes connections."""
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    @property
    def url(self) -> str:
        """Its address for a site."""
        return self.url_at(self.hosts[0])

    def url_at(self, host: str) -> str:
        """The same as seen from where it is reached by that address."""
        return f"redis://:secret@{host}:{self.port}/0"


def _other_user() -> str:
    """The user as whom servers run that are started by root."""
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    raise NotInstalledError("there is no user but root, and PostgreSQL refuses to be root")
