"""Files that nobody should send, each made from a sound one: texts, JSON documents, and zip archives of both.

Every input is a function of a sound file and a random generator: what was found once is found again from its
seed. Nearly all are small, so that many can be tried; the few heavy kinds come seldom.
"""

from __future__ import annotations

import random
import stat
import struct
import zipfile
from collections.abc import Mapping, Sequence
from functools import lru_cache

from benchmarks._json_mutations import mutated_json
from benchmarks._text_mutations import NAMES_IN_ARCHIVES, RARE, cut_text, flipped_bytes, mutated_text
from tests.zips import packed, unpacked

_LIES = {"<H": (0, 1, 8, 14, 99, 0xFFFF), "<L": (0, 1, 0xFFFFFFFF, 2**31)}
_FIELDS = ((8, "<H"), (10, "<H"), (16, "<L"), (20, "<L"), (24, "<L"), (28, "<H"), (42, "<L"))
"""Of an entry of an archive's directory: where its flags, packing, checksum, sizes, name and place stand."""

_unpacked = lru_cache(maxsize=32)(unpacked)


def mutated(sound: Sequence[bytes], drawn: random.Random) -> bytes:
    """A hostile file made of one of the sound ones, once in a hundred times that one as it is."""
    content = drawn.choice(sound)
    if drawn.random() < 0.01:
        return content
    return _archive(content, drawn) if content.startswith(b"PK\x03\x04") else _document(content, drawn)


def _document(content: bytes, drawn: random.Random) -> bytes:
    if content[:1] in b"{[" and drawn.random() < 0.8:
        return mutated_json(content, drawn)
    if content.startswith(b"SQLite format 3"):
        return flipped_bytes(content, drawn)
    return mutated_text(content, drawn)


def _archive(content: bytes, drawn: random.Random) -> bytes:
    """A zip archive with flipped bytes, cut off, odd as a whole, or with one or two changed documents."""
    chance = drawn.random()
    if chance < 0.1:
        return flipped_bytes(packed(_unpacked(content)), drawn)
    if chance < 0.13:
        return cut_text(content, drawn)
    if chance < 0.3:
        return _odd_archive(_unpacked(content), drawn)
    files = dict(_unpacked(content))
    for _ in range(drawn.choice((1, 1, 2))):
        name = drawn.choice(sorted(files))
        files[name] = _document(files[name], drawn)
    return packed(files)


def _odd_archive(files: Mapping[str, bytes], drawn: random.Random) -> bytes:
    """An archive with a file that is missing, doubled, elsewhere, huge, a link, or something else."""
    name, other = drawn.choice(sorted(files)), drawn.choice(NAMES_IN_ARCHIVES)
    others = {key: content for key, content in files.items() if key != name}
    piece = drawn.choice((b"", b"\0", b"{}", b"[]", b"null", b"\x1f\x8b", b"PK\x03\x04"))
    if drawn.random() < RARE:
        return packed({**files, name: files[name] + b" " * 3_000_000}, zipfile.ZIP_DEFLATED)
    if drawn.random() < 0.15:
        return _lying(packed(files), drawn)
    if drawn.random() < 0.15:
        return packed(files, external_attr=(stat.S_IFLNK | 0o777) << 16)
    return packed(
        drawn.choice(
            (
                others,
                {**files, other: files[name]},
                {**others, other: files[name]},
                {**files, name.upper(): b"{}"},
                {**files, name: piece},
            )
        )
    )


def _lying(content: bytes, drawn: random.Random) -> bytes:
    """The directory of the archive says something else of a member: its size, flags, or way of packing."""
    changed = bytearray(content)
    entries = [at for at in range(len(content) - 46) if content[at : at + 4] == b"PK\x01\x02"]
    offset, form = drawn.choice(_FIELDS)
    struct.pack_into(form, changed, drawn.choice(entries) + offset, drawn.choice(_LIES[form]))
    return bytes(changed)
