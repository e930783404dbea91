"""A foreign program that tries to change a file, in every way that the kernel has.

It runs in the sandbox as a script with nothing but the standard library: `PROBER JSON`, where the JSON has
`numbers` of system calls by name and `probes`, pairs of an operation and a path. It prints each outcome.
"""

# The calls of the system are the matter here, not paths.
# ruff: noqa: PTH101, PTH102, PTH104, PTH123, PTH211

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import mmap
import os
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path

DONE = "done"
LINK = "link:"
"""Before a path: it is reached by a symbolic link in the scratch folder."""

_libc = ctypes.CDLL(None, use_errno=True)
_numbers: dict[str, int] = {}
_HERE, _EMPTY_PATH, _FOLLOW, _EXCHANGE = -100, 0x1000, 0x400, 2
_SET_FLAGS, _SET_ATTRIBUTES, _CLONE_FILE = 0x40086602, 0x401C5820, 0x40049409
_NEW_USER_AND_MOUNTS = 0x10020000
_BIND, _PUNCH_HOLE_KEEP_SIZE, _ALL_EVENTS = 0x1000, 3, 0xFFF
_NAME = b"user.planted"
_SCRATCH = "own-file"


def _call(name: str, *arguments: object) -> int:
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = int(_libc.syscall(ctypes.c_long(_numbers[name]), *words))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _opened(path: str, flags: int = os.O_RDONLY) -> int:
    return os.open(path, flags | os.O_CLOEXEC)


def _by_descriptor(path: str) -> str:
    return f"/proc/self/fd/{_opened(path, os.O_PATH)}"


def _own_file() -> str:
    with open(_SCRATCH, "w", encoding="ascii") as file:
        file.write("planted")
    return _SCRATCH


def _write(path: str, flags: int) -> None:
    os.write(_opened(path, flags), b"planted")


def _write_by_mapping(path: str) -> None:
    with mmap.mmap(_opened(path), 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE) as memory:
        memory[0] = 0


def _temporary_file_gets_a_name(path: str) -> None:
    file = _opened(path, os.O_TMPFILE | os.O_WRONLY)
    _call("linkat", _HERE, f"/proc/self/fd/{file}".encode(), _HERE, f"{path}/planted".encode(), _FOLLOW)


def _link_then_write(path: str) -> None:
    os.link(path, "own-link")
    _write("own-link", os.O_WRONLY)


def _symlink_then_write(path: str) -> None:
    os.symlink(path, "own-symlink")
    _write("own-symlink", os.O_WRONLY)


def _enter_user_namespace_and_mount(path: str) -> None:
    _call("unshare", _NEW_USER_AND_MOUNTS)
    _call("mount", b"none", path.encode(), b"tmpfs", 0, None)


def _bind_a_socket(path: str) -> None:
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    ends[0].bind(path + ".socket")


def _watch(path: str) -> None:
    _call("inotify_add_watch", _call("inotify_init1", 0), path.encode(), _ALL_EVENTS)


def _lease(path: str) -> None:
    fcntl.fcntl(_opened(path), fcntl.F_SETLEASE, fcntl.F_RDLCK)


_times = struct.pack("4q", 1, 0, 1, 0)
_TIMES = ctypes.c_char_p(_times)
_how = struct.pack("3Q", os.O_WRONLY | os.O_TRUNC, 0, 0)

OPERATIONS: dict[str, Callable[[str], object]] = {
    "chmod": lambda path: os.chmod(path, 0o4777),
    "chmod by /proc": lambda path: os.chmod(_by_descriptor(path), 0o4777),
    "fchmod": lambda path: os.fchmod(_opened(path), 0o4777),
    "fchmod of a path alone": lambda path: os.fchmod(_opened(path, os.O_PATH), 0o4777),
    "fchmodat": lambda path: _call("fchmodat", _HERE, path.encode(), 0o4777),
    "fchmodat2": lambda path: _call("fchmodat2", _opened(path, os.O_PATH), b"", 0o4777, _EMPTY_PATH),
    "chown": lambda path: os.chown(path, os.getuid(), os.getgid()),
    "lchown": lambda path: os.lchown(path, os.getuid(), os.getgid()),
    "fchown": lambda path: os.fchown(_opened(path), os.getuid(), os.getgid()),
    "fchownat": lambda path: _call("fchownat", _opened(path, os.O_PATH), b"", -1, os.getgid(), _EMPTY_PATH),
    "utime": lambda path: _call("utime", path.encode(), None),
    "utimes": lambda path: _call("utimes", path.encode(), _TIMES),
    "futimesat": lambda path: _call("futimesat", _HERE, path.encode(), _TIMES),
    "utimensat": lambda path: os.utime(path, (1, 1)),
    "utimensat of a link": lambda path: os.utime(path, (1, 1), follow_symlinks=False),
    "futimens": lambda path: os.utime(_opened(path), (1, 1)),
    "utimensat of a path alone": lambda path: _call(
        "utimensat", _opened(path, os.O_PATH), b"", _TIMES, _EMPTY_PATH
    ),
    "setxattr": lambda path: os.setxattr(path, _NAME, b"1"),
    "lsetxattr": lambda path: os.setxattr(path, _NAME, b"1", follow_symlinks=False),
    "fsetxattr": lambda path: os.setxattr(_opened(path), _NAME, b"1"),
    "setxattrat": lambda path: _call(
        "setxattrat", _HERE, path.encode(), 0, _NAME, struct.pack("QII", 0, 0, 0), 16
    ),
    "removexattr": lambda path: os.removexattr(path, b"user.present"),
    "fremovexattr": lambda path: os.removexattr(_opened(path), b"user.present"),
    "file_setattr": lambda path: _call(
        "file_setattr", _HERE, path.encode(), struct.pack("3Q", 8, 0, 0), 24, 0
    ),
    "write": lambda path: _write(path, os.O_WRONLY),
    "read and write": lambda path: _write(path, os.O_RDWR),
    "append": lambda path: _write(path, os.O_WRONLY | os.O_APPEND),
    "write by /proc": lambda path: _write(_by_descriptor(path), os.O_WRONLY),
    "write what may be read": lambda path: os.write(_opened(path), b"planted"),
    "write by a mapping": _write_by_mapping,
    "openat2": lambda path: _call("openat2", _HERE, path.encode(), _how, len(_how)),
    "truncate": lambda path: os.truncate(path, 0),
    "truncate by opening": lambda path: _opened(path, os.O_WRONLY | os.O_TRUNC),
    "truncate by opening to read": lambda path: _opened(path, os.O_RDONLY | os.O_TRUNC),
    "ftruncate": lambda path: os.ftruncate(_opened(path), 0),
    "punch a hole": lambda path: _call("fallocate", _opened(path), _PUNCH_HOLE_KEEP_SIZE, 0, 4),
    "copy into": lambda path: os.copy_file_range(_opened(_own_file()), _opened(path), 7),
    "send into": lambda path: os.sendfile(_opened(path), _opened(_own_file()), 0, 7),
    "make": lambda path: _opened(path + ".planted", os.O_WRONLY | os.O_CREAT),
    "make in it": lambda path: _opened(path + "/planted", os.O_WRONLY | os.O_CREAT),
    "make with a set-user-ID": lambda path: os.open(path + ".planted", os.O_WRONLY | os.O_CREAT, 0o4755),
    "make without a name": _temporary_file_gets_a_name,
    "mkdir": lambda path: os.mkdir(path + ".planted"),
    "mkdir in it": lambda path: os.mkdir(path + "/planted"),
    "mknod": lambda path: os.mknod(path + ".planted", 0o104755),
    "mkfifo": lambda path: os.mkfifo(path + ".planted"),
    "bind": _bind_a_socket,
    "symlink": lambda path: os.symlink("/", path + ".planted"),
    "symlink to it": _symlink_then_write,
    "link": lambda path: os.link(path, path + ".planted"),
    "link to it": _link_then_write,
    "link by a descriptor": lambda path: _call("linkat", _opened(path), b"", _HERE, b"own-link", _EMPTY_PATH),
    "link by /proc": lambda path: _call(
        "linkat", _HERE, _by_descriptor(path).encode(), _HERE, b"own-link", _FOLLOW
    ),
    "rename": lambda path: os.rename(path, path + ".planted"),
    "rename out": lambda path: os.rename(path, "own-booty"),
    "rename in": lambda path: os.rename(_own_file(), path),
    "exchange": lambda path: _call("renameat2", _HERE, _own_file().encode(), _HERE, path.encode(), _EXCHANGE),
    "unlink": os.unlink,
    "rmdir": os.rmdir,
    "set flags": lambda path: fcntl.ioctl(_opened(path), _SET_FLAGS, struct.pack("Q", 0x40)),
    "set attributes": lambda path: fcntl.ioctl(
        _opened(path), _SET_ATTRIBUTES, struct.pack("7I", 8, *[0] * 6)
    ),
    "clone into": lambda path: fcntl.ioctl(_opened(path), _CLONE_FILE, _opened(_own_file())),
    "queue by io_uring": lambda path: _call("io_uring_setup", 4, bytes(120)),
    "handle": lambda path: _call("name_to_handle_at", _HERE, path.encode(), bytes(200), bytes(8), 0),
    "open by handle": lambda path: _call(
        "open_by_handle_at", _opened(path, os.O_PATH), bytes(200), os.O_WRONLY
    ),
    "mount over": lambda path: _call("mount", b"none", path.encode(), b"tmpfs", 0, None),
    "mount elsewhere": lambda path: _call("mount", path.encode(), b".", None, _BIND, None),
    "mount in a namespace": _enter_user_namespace_and_mount,
    "clone a tree": lambda path: _call("open_tree", _HERE, path.encode(), 1),
    "account into": lambda path: _call("acct", path.encode()),
    "swap into": lambda path: _call("swapon", path.encode(), 0),
    "watch": _watch,
    "watch by fanotify": lambda path: _call("fanotify_init", 0, 0),
    "watch by a signal": lambda path: fcntl.fcntl(_opened(path), fcntl.F_NOTIFY, 0x3F),
    "lease": _lease,
}
"""Ways to change a path, what is beside it, or what others may do with it."""

WITHOUT_TRACE = (
    *(
        "queue by io_uring",
        "handle",
        "open by handle",
        "watch",
        "watch by fanotify",
        "watch by a signal",
        "lease",
    ),
    *("clone a tree", "mount over", "mount elsewhere", "mount in a namespace"),
)
"""Operations which nobody outside can see afterwards: that they were refused has to be their outcome."""


LOST = (
    *("write", "read and write", "append", "write by /proc", "truncate by opening", "make", "make in it"),
    "symlink to it",
)
"""Operations that open a file to write: a filter of calls alone does not see which."""


def _outcome(operation: str, target: str) -> str:
    try:
        if target.startswith(LINK):
            os.symlink(target.removeprefix(LINK), "way")
            target = "way"
        OPERATIONS[operation](target)
    except OSError as error:
        return error.strerror or str(error)
    except (ValueError, KeyError) as error:
        return repr(error)
    return DONE


def main() -> None:
    """Try each probe in a process of its own, in a directory of its own."""
    request = json.loads(sys.argv[1])
    _numbers.update(request["numbers"])
    home = Path.cwd()
    for number, (operation, target) in enumerate(request["probes"]):
        if os.fork():
            os.wait()
            continue
        with contextlib.suppress(BaseException):
            with contextlib.suppress(OSError):  # refused where nothing bounds it
                (home / str(number)).mkdir()
                os.chdir(home / str(number))
            sys.stdout.write(f"{json.dumps([operation, target, _outcome(operation, target)])}\n")
            sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
