"""Files that nobody should send, each made from a sound one: texts, JSON documents, and zip archives of both.

Every input is a function of a sound file and a random generator: what was found once is found again from its
seed. Nearly all are small, so that many can be tried; the few heavy kinds come seldom.
"""

from __future__ import annotations

import io
import random
import stat
import struct
import zipfile
from collections.abc import Sequence
from functools import lru_cache

from benchmarks._json_mutations import mutated_json
from benchmarks._text_mutations import RARE, TEXT_MUTATIONS, cut_text, flipped_bytes, large_text

ZIP = b"PK\x03\x04"

_NAMES = (
    *(
        "../a",
        "/etc/passwd",
        "a/../../b",
        "..\\b",
        "C:a",
        "C:\\a",
        "a//b",
        "./a",
        "a\x01b",
        "a\0b",
        "n" * 400,
    ),
    *(
        "",
        "/",
        "RUN.JSON",
        "Campaign.json",
        "run.json/",
        "files/x",
        "files/../x",
        "é.json",
        "e\u0301.json",
        "con",
    ),
)


def mutated(sound: Sequence[bytes], drawn: random.Random) -> bytes:
    """A hostile file made of one of the sound ones, once in a hundred times that one as it is."""
    content = drawn.choice(sound)
    if drawn.random() < 0.01:
        return content
    if content.startswith(ZIP):
        return _archive(content, drawn)
    return _document(content, drawn)


def _document(content: bytes, drawn: random.Random) -> bytes:
    if content[:1] in b"{[" and drawn.random() < 0.8:
        return mutated_json(content, drawn)
    if content.startswith(b"SQLite format 3"):
        return flipped_bytes(content, drawn)
    if drawn.random() < RARE:
        return large_text(content, drawn)
    for _ in range(drawn.choice((1, 1, 1, 2, 3, 5))):
        content = drawn.choice(TEXT_MUTATIONS)(content, drawn)
    return content


@lru_cache(maxsize=32)
def _members(content: bytes) -> tuple[tuple[str, bytes], ...]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return tuple((name, archive.read(name)) for name in archive.namelist())


def _archive(content: bytes, drawn: random.Random) -> bytes:
    chance = drawn.random()
    if chance < 0.1:
        return flipped_bytes(_packed(dict(_members(content))), drawn)
    if chance < 0.13:
        return cut_text(content, drawn)
    members = dict(_members(content))
    if chance < 0.3:
        return _odd_archive(members, drawn)
    for _ in range(drawn.choice((1, 1, 2))):
        name = drawn.choice(sorted(members))
        members[name] = _document(members[name], drawn)
    return _packed(members)


def _odd_archive(members: dict[str, bytes], drawn: random.Random) -> bytes:
    kind = drawn.randrange(8)
    name = drawn.choice(sorted(members))
    if kind == 0:
        del members[name]
    elif kind == 1:
        members[drawn.choice(_NAMES)] = members[name]
    elif kind == 2:
        members[drawn.choice(_NAMES)] = members.pop(name)
    elif kind == 3:
        members[name.upper()] = b"{}"
    elif kind == 4:
        return _packed(members, link=name)
    elif kind == 5:
        return _lying(_packed(members), drawn)
    elif kind == 6 and drawn.random() < 10 * RARE:
        members[name] += b" " * 3_000_000
        return _packed(members, zipfile.ZIP_DEFLATED)
    else:
        members[name] = drawn.choice((b"", b"\0", b"{}", b"[]", b"null", b"\x1f\x8b", b"PK\x03\x04"))
    return _packed(members)


def _packed(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED, link: str = "") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = compression
            if name == link:
                info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, content)
    return out.getvalue()


def _lying(content: bytes, drawn: random.Random) -> bytes:
    """The directory of the archive says something else of a member: its size, flags, or way of packing."""
    changed = bytearray(content)
    entries = [at for at in range(len(content) - 46) if content[at : at + 4] == b"PK\x01\x02"]
    at = drawn.choice(entries)
    field, form = drawn.choice(
        ((8, "<H"), (10, "<H"), (16, "<L"), (20, "<L"), (24, "<L"), (28, "<H"), (42, "<L"))
    )
    value = (
        drawn.choice((0, 1, 8, 14, 99, 0xFFFF)) if form == "<H" else drawn.choice((0, 1, 0xFFFFFFFF, 2**31))
    )
    struct.pack_into(form, changed, at + field, value)
    return bytes(changed)
