"""Zips taken apart and put together."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping


def unpacked(content: bytes) -> dict[str, bytes]:
    """{name: content} of its files."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(files: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED, **attributes: int) -> bytes:
    """A zip of these files, the same for the same ones, quick to make anew unless compressed.

    `attributes` of `zipfile.ZipInfo` are given to each file.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = compression
            for attribute, value in attributes.items():
                setattr(info, attribute, value)
            archive.writestr(info, content)
    return buffer.getvalue()
