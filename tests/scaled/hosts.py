"""Hosts of their own on one computer: network namespaces, each with a cable that can be pulled."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess


class NoNamespacesError(Exception):
    """Network namespaces cannot be made here; the message says why."""


def _ip(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)


class Host:
    """A namespace `name` with the address `there`; this computer is `here` to it. The net is 10.x.y.0/30."""

    def __init__(self) -> None:
        if shutil.which("ip") is None or os.geteuid() != 0:
            raise NoNamespacesError("network namespaces need root and iproute2: apt install iproute2")
        self.name = f"pmweb-{secrets.token_hex(3)}"
        self._cable = f"pm{secrets.token_hex(4)}"
        net = f"10.{200 + secrets.randbelow(50)}.{secrets.randbelow(250)}"
        self.here, self.there = f"{net}.1", f"{net}.2"
        try:
            self._make()
        except NoNamespacesError:
            self.remove()
            raise

    @property
    def within(self) -> list[str]:
        """What is to stand before a command that shall run there."""
        return ["ip", "netns", "exec", self.name]

    def pull_cable(self) -> None:
        """From now on nothing gets through, and nobody is told."""
        self._do("link", "set", self._cable, "down")

    def plug_in(self) -> None:
        """The cable is back."""
        self._do("link", "set", self._cable, "up")

    def remove(self) -> None:
        """Leave nothing behind."""
        _ip("link", "delete", self._cable)
        _ip("netns", "delete", self.name)

    def _make(self) -> None:
        other = f"{self._cable}n"
        self._do("netns", "add", self.name)
        self._do("link", "add", self._cable, "type", "veth", "peer", "name", other, "netns", self.name)
        self._do("address", "add", f"{self.here}/30", "dev", self._cable)
        self._do("link", "set", self._cable, "up")
        for arguments in (
            ("address", "add", f"{self.there}/30", "dev", other),
            ("link", "set", other, "up"),
            ("link", "set", "lo", "up"),
        ):
            self._do("-netns", self.name, *arguments)

    def _do(self, *arguments: str) -> None:
        done = _ip(*arguments)
        if done.returncode:
            raise NoNamespacesError(
                f"`ip {' '.join(arguments)}` is not permitted here: {done.stderr.strip()}"
            )
