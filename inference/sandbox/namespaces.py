"""A user, a network and shared memory of its own for a process (user namespaces).

Many hosts keep them from ordinary users: AppArmor on Ubuntu, containers, services with
RestrictNamespaces. `starter` finds that out by trying.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

from inference.sandbox import kernel

_UNSHARE = {"x86_64": 272, "aarch64": 97}
_NEW_USER, _NEW_NETWORK, _NEW_IPC, _NEW_NAMES = 0x10000000, 0x40000000, 0x08000000, 0x04000000
_NOBODY = 65534


def enter() -> None:
    """Leave the others' network and shared memory, and every right over them. Raises `OSError`.

    Files belong to whom they did. Root is nobody inside, so that a program which is executed has no
    capabilities even there; anybody else is called as before.
    """
    number = _UNSHARE.get(platform.machine())
    if number is None:
        raise OSError(f"{platform.machine()} is not known")
    user, group = os.geteuid(), os.getegid()
    kernel.close_to_others(closed=False)  # else /proc/self is root's, and the maps cannot be written
    kernel.call(number, _NEW_USER | _NEW_NETWORK | _NEW_IPC | _NEW_NAMES)
    own = Path("/proc/self")
    (own / "setgroups").write_text("deny")
    (own / "uid_map").write_text(f"{user or _NOBODY} {user} 1")
    (own / "gid_map").write_text(f"{group or _NOBODY} {group} 1")
