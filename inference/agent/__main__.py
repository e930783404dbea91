"""`python3 pmweb-agent.pyz --server URL --token-file FILE`: measures on this computer for a pmweb site."""

from __future__ import annotations

import argparse
import asyncio
import concurrent.futures.thread  # noqa: F401  loaded when a host is resolved, perhaps by a user who cannot read it
import contextlib
import encodings.idna  # noqa: F401  likewise
import logging
import os
import pwd
import signal
import socket
import ssl
import sys

from inference import __version__
from inference.agent import fork_server, token
from inference.agent.connection import AddressError, is_unencrypted, tls_context
from inference.agent.core_types import core_types, notice
from inference.agent.emulated import EmulatedHarness
from inference.agent.facts import choose_core, facts, unfit
from inference.agent.passes import LocalHarness, UnfitHarness
from inference.agent.process import ForkServer, UnfitError
from inference.agent.protocol import Settings
from inference.agent.reading import Json, ProtocolError
from inference.agent.sandbox import become, die_with_parent
from inference.agent.session import AgentRefusedError, run_agent
from inference.agent.targets import native
from inference.sandbox import kernel

_NICENESS = -10  # where it is allowed

log = logging.getLogger("pmweb-agent")


class UsageError(Exception):
    """The command line is invalid, or asks for something impossible on this computer."""


def main() -> int:
    """Run until stopped; exit status 1 for a server that is not understood, 2 where a restart cannot help."""
    options = _options()
    logging.basicConfig(format="%(name)s: %(message)s", level=logging.INFO)
    try:
        if exposed := token.exposed_token(options.token):
            token.restart_without_token(exposed)
        return _run(options)
    except ProtocolError as error:
        log.error("the server is not understood: %s", error)
        return 1
    except (AddressError, AgentRefusedError, UsageError, token.TokenError) as error:
        log.error("%s", error)
        return 2
    except KeyboardInterrupt:
        return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="pmweb-agent", description=__doc__, allow_abbrev=False)
    parser.add_argument("--server", required=True, help="address of the site, like http://host:8000")
    parser.add_argument(token.FILE_OPTION, metavar="FILE", help=token.HELP)
    parser.add_argument(token.OPTION, default="", help=argparse.SUPPRESS)  # deprecated
    parser.add_argument("--ca", metavar="FILE", help="certificates (PEM) to trust a https:// server by")
    parser.add_argument("--core", type=int, help="processor to measure on (an isolated or fast one)")
    parser.add_argument("--user", help="user to become when started by root")
    parser.add_argument("--allow-root", action="store_true", help="run foreign code as root all the same")
    parser.add_argument(
        "--emulated", action="store_true", help="run code in an emulator as well; its times mean nothing"
    )
    parser.add_argument(
        "--without-sandbox",
        action="store_true",
        help="run foreign code even where the kernel cannot confine it: on a computer with nothing to lose",
    )
    parser.add_argument("--die-with-parent", action="store_true", help="end when the starting process ends")
    parser.add_argument("--version", action="version", version=f"pmweb-agent {__version__}")
    return parser.parse_args()


def _run(options: argparse.Namespace) -> int:
    """Measure for a site until the agent is stopped; returns the exit status.

    The order matters: certificates are read before another user is become, measuring processes are
    forked before there is a thread or a token in memory.

    Raises:
        UsageError: Options contradict one another or the computer.
    """
    if not options.token_file:
        raise UsageError(f"a token is needed: {token.FILE_OPTION} FILE, or {token.FILE_OPTION} - and type it")
    if is_unencrypted(options.server):
        log.warning("%s is not https://: the token can be read on the way there", options.server)
    tls = tls_context(options.ca)  # before another user is become, who cannot read the file perhaps
    _check_user(options)
    try:
        core = choose_core(options.core)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if message := notice(core, core_types()):
        log.info("%s", message)
    computer = _facts(core, emulated=options.emulated)
    # Fork before any thread exists, and while root may still raise the priority. An unfit computer runs no
    # code.
    connection = (
        None
        if computer["unfit"]
        else fork_server.start(core, _NICENESS, options.user, sandboxed=not options.without_sandbox)
    )
    # The token is read only now, so that the forked measuring processes never had it in memory.
    kernel.deny_inspection()
    secret = token.read(options.token_file)
    parent = os.getppid()
    if options.user:
        become(options.user)
    if options.die_with_parent and not die_with_parent(parent):
        return 0
    return asyncio.run(_serve(options.server, secret, tls, connection, computer, core))


def _facts(core: int | None, *, emulated: bool) -> Json:
    """The computer's facts; with `emulated`, an emulator does not make it unfit."""
    computer = facts(core)
    return {**computer, "unfit": unfit(computer["system"], computer["machine"])} if emulated else computer


def _check_user(options: argparse.Namespace) -> None:
    if options.user:
        try:
            user = pwd.getpwnam(options.user)
        except KeyError:
            raise UsageError(f"there is no user named {options.user!r}") from None
        if os.geteuid() not in {0, user.pw_uid}:
            raise UsageError("only root can become another user")
        stays_root = user.pw_uid == 0
    else:
        stays_root = os.geteuid() == 0
    if stays_root and not options.allow_root:
        raise UsageError("this runs machine code that a server sends: not as root. Use --user nobody")


async def _serve(
    server: str,
    secret: str,
    tls: ssl.SSLContext,
    connection: socket.socket | None,
    computer: Json,
    core: int | None,
) -> int:
    """Serve until stopped. Exit status 1 where the fork server ended, which only a new agent can replace."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None, "a coroutine runs in a task"
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, task.cancel)
    status = 0

    def lose_fork_server() -> None:
        nonlocal status
        status = 1
        log.error("the process that starts measuring processes has ended: start this agent again")
        task.cancel()

    reason = computer["unfit"]
    harness: LocalHarness | UnfitHarness
    if connection is None:
        harness = UnfitHarness(reason)
    else:
        avx = "avx" in computer["flags"]
        target = native()
        answers = target.documented(computer)
        kind = EmulatedHarness if computer.get("emulated") else LocalHarness
        harness = kind(ForkServer(connection, lose_fork_server), answers, avx=avx)
        try:
            await harness.preflight(target.frame(avx=avx), Settings())
        except UnfitError as error:
            reason = str(error)
    if reason:
        log.error("cannot measure here: %s", reason)

    def current_facts() -> Json:
        state = {"unfit": reason, "confinement": dict(harness.confinement), **harness.counters}
        return {**facts(core), **state}

    with contextlib.suppress(asyncio.CancelledError):
        await run_agent(server, secret, harness, current_facts, __version__, tls)
    return status


if __name__ == "__main__":
    sys.exit(main())
