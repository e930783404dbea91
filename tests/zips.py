"""The zip of a run, taken apart and put together."""

from __future__ import annotations

import io
import zipfile


def unpacked(content: bytes) -> dict[str, bytes]:
    """{name: content} of its files."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(files: dict[str, bytes]) -> bytes:
    """A zip of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()
