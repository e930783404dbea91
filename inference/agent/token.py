"""How an agent gets its token: such that no process that runs foreign code has ever had it.

Whatever is in an agent's memory when it forks its measuring processes, their code can read. So the token
stays outside until then: in a file, or unread on the standard input. Environment and command line are in
memory from the first moment on, and the command line is shown to everybody; an agent that finds its token
there starts itself anew without, and gives it to itself on the standard input.
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

_LONGEST = 4096

log = logging.getLogger("pmweb-agent")


class TokenError(Exception):
    """There is no token where one should be; the text says what would be right."""


def exposed_token(token: str = "") -> str:
    """The token of the command line, else that of the environment, which does not have it any more.

    "" where there is none, as it should be; who gives one so is told what is better.
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
    """Become this program without the token in environment and command line, and with it on standard input.

    Does not return. Raises `TokenError` where that cannot be.
    """
    if not sys.executable:
        raise TokenError(f"this Python does not know its own path: use {FILE_OPTION}")
    if len(token) > _LONGEST:
        raise TokenError(f"a token has at most {_LONGEST} characters")
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
    """A command line without the option that has the token."""
    remaining: list[str] = []
    skipped = False
    for word in arguments:
        if skipped or word == OPTION:
            skipped = not skipped
        elif not word.startswith(f"{OPTION}="):
            remaining.append(word)
    return remaining


def read(path: str) -> str:
    """The token in the first line of a file, or of standard input; a person is asked. Raises `TokenError`."""
    if path == STANDARD_INPUT:
        return _token(_from_standard_input(), "the standard input")
    try:
        with Path(path).open("rb") as file:
            if os.fstat(file.fileno()).st_mode & (stat.S_IRGRP | stat.S_IROTH):
                log.warning("%s can be read by others: chmod 600 %s", path, path)
            return _token(file.readline(_LONGEST + 2), path)
    except OSError as error:
        raise TokenError(f"{path} with the token cannot be read: {error.strerror}") from error


def _from_standard_input() -> bytes:
    try:
        if sys.stdin is not None and sys.stdin.isatty():
            return getpass.getpass("Token: ").encode()
        line = b""
        while len(line) <= _LONGEST and not line.endswith(b"\n") and (sign := os.read(0, 1)):
            line += sign  # no further: what comes behind it is not this program's
    except (OSError, EOFError) as error:
        raise TokenError(f"no token comes from the standard input: {error}") from error
    return line


def _token(line: bytes, where: str) -> str:
    words = line.decode("ascii", "replace").split()
    if len(words) != 1 or len(words[0]) > _LONGEST or not words[0].isprintable() or "\ufffd" in words[0]:
        raise TokenError(f"{where} has no token in its first line: it is one word such as pmweb_…")
    return words[0]
