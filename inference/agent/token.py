"""Reads an agent's token such that no process that runs foreign code has it in memory.

Measuring processes are forked from the agent, and their code can read all of the inherited memory. So the
token is read after the fork: from a file, or from standard input. Environment and command line are in memory
from the start, and any user can see the command line; an agent that finds its token there restarts itself
without it, and passes it on standard input.
"""

from __future__ import annotations

import getpass
import logging
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

VARIABLE = "PMWEB_AGENT_TOKEN"
OPTION = "--token"
FILE_OPTION = "--token-file"
STANDARD_INPUT = "-"
HELP = (
    f"file with the token that the site showed when the machine was added; {STANDARD_INPUT}: standard input"
)

_MAX_LENGTH = 4096  # characters

log = logging.getLogger("pmweb-agent")


class TokenError(Exception):
    """There is no valid token; the message says what is expected."""


def exposed_token(token: str = "") -> str:
    """The token of the command line, else of the environment, from which it is removed; "" for none.

    Logs a warning with the better way.
    """
    inherited = os.environ.pop(VARIABLE, "")
    if exposed := token or inherited:
        where = OPTION if token else f"the variable {VARIABLE}"
        log.warning(
            "%s is deprecated: put the token into a file and give its name with %s", where, FILE_OPTION
        )
        return exposed
    return ""


def restart_without_token(token: str) -> None:
    """Execute this program again, with the token on standard input only.

    Does not return. Raises `TokenError` where it cannot be executed.
    """
    if not sys.executable:
        raise TokenError(f"this Python does not know its own path: use {FILE_OPTION}")
    if len(token) > _MAX_LENGTH:
        raise TokenError(f"a token has at most {_MAX_LENGTH} characters")
    reading, writing = os.pipe()
    os.write(writing, token.encode() + b"\n")
    os.dup2(reading, 0)
    os.close(reading)
    os.close(writing)
    command = [sys.executable, *without_token(sys.orig_argv[1:]), FILE_OPTION, STANDARD_INPUT]
    try:
        os.execv(sys.executable, command)  # noqa: S606  this very program; there is no shell
    except OSError as error:
        raise TokenError(f"{sys.executable} cannot be started anew: {error.strerror}") from error


def without_token(arguments: Sequence[str]) -> list[str]:
    """The command line without the token's option."""
    remaining: list[str] = []
    skipped = False
    for word in arguments:
        if skipped or word == OPTION:
            skipped = not skipped
        elif not word.startswith(f"{OPTION}="):
            remaining.append(word)
    return remaining


def read(path: str) -> str:
    """The token in the first line of a file or of standard input, where a terminal prompts.

    Raises:
        TokenError: There is none, or it is malformed.
    """
    if path == STANDARD_INPUT:
        return _token(_from_standard_input(), "the standard input")
    try:
        with Path(path).open("rb") as file:
            if os.fstat(file.fileno()).st_mode & (stat.S_IRGRP | stat.S_IROTH):
                log.warning("%s can be read by others: chmod 600 %s", path, path)
            return _token(file.readline(_MAX_LENGTH + 2), path)
    except OSError as error:
        raise TokenError(f"{path} with the token cannot be read: {error.strerror}") from error


def _from_standard_input() -> bytes:
    try:
        if sys.stdin is not None and sys.stdin.isatty():
            return getpass.getpass("Token: ").encode()
        line = b""
        while len(line) <= _MAX_LENGTH and not line.endswith(b"\n") and (sign := os.read(0, 1)):
            line += sign  # no further: what comes behind it is not this program's
    except (OSError, EOFError) as error:
        raise TokenError(f"no token comes from the standard input: {error}") from error
    return line


def _token(line: bytes, where: str) -> str:
    words = line.decode("ascii", "replace").split()
    if len(words) != 1 or len(words[0]) > _MAX_LENGTH or not words[0].isprintable() or "\ufffd" in words[0]:
        raise TokenError(f"{where} has no token in its first line: it is one word such as pmweb_…")
    return words[0]
