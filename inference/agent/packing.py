"""Packs the agent and the library that it needs into one file: `python -m inference.agent.packing FILE`.

The file is an executable zip archive that any Python from `OLDEST_PYTHON` on runs with nothing installed. The
same sources always give the same bytes.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path, PurePath

import inference

OLDEST_PYTHON = (3, 11)  # that can run the agent
_SHEBANG = b"#!/usr/bin/env python3\n"
_LIBRARY = "websockets"
_UNUSED = {"legacy", "sync", "trio", "cli.py", "__main__.py", "server.py", "router.py"}
"""Parts of the library that an asyncio client does not load."""

_MOMENT = (1980, 1, 1, 0, 0, 0)  # the first that the format knows
_READABLE = 0o100644 << 16  # a file's mode, in the place where zip archives have it
_BUILDER = "packing.py"
_OF_THE_SANDBOX = ("__init__.py", "call_filter.py", "kernel.py", "system_calls.py")

# Every Python from 2.7 on must be able to read this far, so that it can say what is missing.
_MAIN = """\
import sys

if sys.version_info < {oldest!r}:
    sys.exit(
        "pmweb-agent needs Python {dotted} or newer; this is Python %d.%d (%s). Try: python{dotted} %s ..."
        % (sys.version_info[0], sys.version_info[1], sys.executable, sys.argv[0])
    )

from inference.agent.__main__ import main

sys.exit(main())
"""


class PackingError(Exception):
    """The agent cannot be packed; the message says what is missing."""


@cache
def packed() -> bytes:
    """The packed agent as bytes. Raises `PackingError`."""
    buffer = io.BytesIO()
    buffer.write(_SHEBANG)
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in sorted(_contents().items()):
            entry = zipfile.ZipInfo(name, _MOMENT)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, wherever it is packed
            entry.external_attr = _READABLE
            archive.writestr(entry, content)
    return buffer.getvalue()


def _contents() -> dict[str, bytes]:
    """{path in the archive: content}."""
    package = Path(inference.__file__).parent
    dotted = ".".join(map(str, OLDEST_PYTHON))
    contents = {
        "__main__.py": _MAIN.format(oldest=OLDEST_PYTHON, dotted=dotted).encode(),
        "LICENSE": (package.parent / "LICENSE").read_bytes(),
        "inference/__init__.py": (package / "__init__.py").read_bytes(),
    }
    sandbox = [package / "sandbox" / name for name in _OF_THE_SANDBOX]
    for source in (*(package / "agent").rglob("*.py"), *sandbox):
        if source.name != _BUILDER:
            contents[source.relative_to(package.parent).as_posix()] = source.read_bytes()
    contents.update((name, path.read_bytes()) for name, path in _library())
    return contents


def _library() -> Iterator[tuple[str, Path]]:
    """The pure Python files of the library that a client needs, and its licence."""
    try:
        files = metadata.files(_LIBRARY)
    except metadata.PackageNotFoundError as error:
        raise PackingError(f"the library {_LIBRARY} is not installed: run `make setup`") from error
    licence = None
    for file in files or []:
        path = PurePath(file)
        if path.parts[0] == _LIBRARY and path.suffix == ".py" and not _UNUSED & set(path.parts):
            yield path.as_posix(), Path(str(file.locate()))
        elif path.name == "LICENSE":
            licence = Path(str(file.locate()))
    if licence is None:
        raise PackingError(f"the files of the library {_LIBRARY} are not listed: run `make setup`")
    yield f"{_LIBRARY}/LICENSE", licence


def write(target: Path) -> None:
    """Write the packed agent as an executable file. Raises `PackingError` and `OSError`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(packed())
    target.chmod(0o755)


def main(arguments: list[str]) -> int:
    """Write the agent to the file in `arguments`; returns the exit status."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write("usage: python -m inference.agent.packing FILE\n")
        return 2
    try:
        write(Path(arguments[0]))
    except (PackingError, OSError) as error:
        sys.stderr.write(f"pmweb-agent cannot be packed: {error}\n")
        return 1
    sys.stdout.write(f"{arguments[0]}: {len(packed()) // 1024} KiB, version {inference.__version__}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
