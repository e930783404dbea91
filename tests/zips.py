"""Zips taken apart and put together."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping


def unpacked(content: bytes) -> dict[str, bytes]:
    """{name: content} of its files."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(files: Mapping[str, bytes]) -> bytes:
    """A zip of these files, the same for the same ones, and not compressed: quick to make anew."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()
