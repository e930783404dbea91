"""Files that nobody should send, each made from a sound one: texts, JSON documents, and zip archives of both.

Every input is a function of a sound file and a random generator: what was found once is found again from its
seed. Nearly all are small, so that many can be tried; the few heavy kinds come seldom.
"""

from __future__ import annotations

import io
import json
import random
import stat
import struct
import zipfile
from collections.abc import Callable, Sequence
from functools import lru_cache

from benchmarks import _nonsense

ZIP = b"PK\x03\x04"

HOSTILE_TEXTS = (
    *(
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        " =1",
        "'=1",
        '=HYPERLINK("http://x","y")',
        "=cmd|' /C'!A0",
    ),
    *(
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "{{ 7 * 7 }}",
        "{% debug %}",
        "&lt;b&gt;",
    ),
    *("../../etc/passwd", "/etc/passwd", "C:\\x", "a/b", ".", "..", "con", "a\u202eb", "\ufeff", "\u2028"),
    *(
        "\0",
        "a\0b",
        "\ud800",
        "\udfff\ud800",
        "e\u0301" * 20,
        "\U0001f600",
        "'; DROP TABLE x; --",
        "%s%n",
        "${x}",
    ),
    *("", " ", "\n", "x" * 300, "x" * 5000, "nan", "-0", "1e999", "9" * 400, "٣", "１", "1_000", "0x10"),
)
"""What is harmful where somebody believes it."""
HOSTILE_NUMBERS = (
    *(
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "-1e999",
        "-0",
        "-0.0",
        "1e-400",
        "5e-324",
        "1.7976931348623157e308",
    ),
    *(
        "9007199254740993",
        "9223372036854775808",
        "-9223372036854775809",
        "1" * 30,
        "9" * 400,
        "9" * 5000,
        "1E5",
    ),
)
_ENTITIES = (
    b'<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>',
    b'<!DOCTYPE l SYSTEM "http://127.0.0.1:1/x.dtd">',
    b'<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    b'<!DOCTYPE l [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>',
)
_SNIPPETS = (
    *(
        b'"',
        b"'",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b";",
        b":",
        b"\n",
        b"\r",
        b"\t",
        b"\0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
    ),
    *(
        b"\xc3",
        b"\xed\xa0\x80",
        b"\x1f\x8b\x08",
        b"-",
        b"1e999",
        b"NaN",
        b"=1+1",
        b"<",
        b">",
        b"</",
        b"<!--",
        b"&x;",
    ),
    *(b"]]>", b"<![CDATA[", b"#", b"*", b"0*", b"%00", b"\\u0000", b"\\ud800", b"9" * 40, b"()", b"||"),
)
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
_RARE = 0.004
"""How often each of the kinds that take a hundred times as long is drawn."""

Text = Callable[[bytes, random.Random], bytes]


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
        return _json(content, drawn)
    if content.startswith(b"SQLite format 3"):
        return _flipped(content, drawn)
    if drawn.random() < _RARE:
        return _large(content, drawn)
    for _ in range(drawn.choice((1, 1, 1, 2, 3, 5))):
        content = drawn.choice(_TEXTS)(content, drawn)
    return content


# ---- texts


def _replaced(content: bytes, drawn: random.Random) -> bytes:
    start = drawn.randint(0, len(content))
    end = start + drawn.choice((0, 0, 1, 1, 2, 8, 40))
    return content[:start] + drawn.choice(_SNIPPETS) + content[end:]


def _flipped(content: bytes, drawn: random.Random) -> bytes:
    changed = bytearray(content or b" ")
    for _ in range(drawn.choice((1, 1, 2, 4, 16))):
        changed[drawn.randrange(len(changed))] = drawn.choice((drawn.randrange(256), 0, 255, 127))
    return bytes(changed)


def _cut(content: bytes, drawn: random.Random) -> bytes:
    return content[: drawn.randint(0, len(content))]


def _repeated(content: bytes, drawn: random.Random) -> bytes:
    start = drawn.randint(0, len(content))
    piece = content[start : start + drawn.choice((1, 8, 60))]
    return content[:start] + piece * drawn.choice((2, 3, 50)) + content[start:]


def _moved(content: bytes, drawn: random.Random) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    line = lines.pop(drawn.randrange(len(lines)))
    lines.insert(drawn.randint(0, len(lines)), line * drawn.choice((0, 1, 2)))
    return b"".join(lines)


def _cell(content: bytes, drawn: random.Random) -> bytes:
    """Another cell, attribute or value, wherever something like a separator stands."""
    places = [at for at, sign in enumerate(content) if sign in b',"\n\t=>;*']
    if not places:
        return content
    start, end = drawn.choice(places) + 1, len(content)
    end = next((at for at in places if at >= start), end)
    text = drawn.choice((drawn.choice(HOSTILE_TEXTS), drawn.choice(HOSTILE_NUMBERS)))
    return content[:start] + text.encode("utf-8", "surrogatepass") + content[end:]


def _entities(content: bytes, drawn: random.Random) -> bytes:
    if b"<" not in content:
        return drawn.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\n\n", b"# \n", b"sep=;\n")) + content
    at = content.find(b"?>") + 2 if content.startswith(b"<?") else 0
    used = drawn.choice((b"", b"&c;", b"&x;"))
    return content[:at] + drawn.choice(_ENTITIES) + content[at:].replace(b">", b">" + used, 1)


_TEXTS: tuple[Text, ...] = (_replaced, _flipped, _cut, _repeated, _moved, _cell, _cell, _entities)


def _large(content: bytes, drawn: random.Random) -> bytes:
    n = drawn.choice((1_000, 50_000, 400_000))
    kind = drawn.randrange(6)
    if kind == 0:
        return content + content[-200:] * (n // 200)
    if kind == 1:
        return drawn.choice((b"[", b'{"a":', b"<a>", b'"', b"(", b"<a b='")) * n
    if kind == 2:
        return content.partition(b"\n")[0] + b"," * n + b"\n" + content
    if kind == 3:
        return content + b"x" * n
    if kind == 4:
        return content.replace(b"1", b"1" * n, 1)
    return content + b"\n" + b",".join([b"1"] * n) + b"\n"


# ---- JSON


def _json(content: bytes, drawn: random.Random) -> bytes:
    try:
        return _of_message(content, json.loads(content), drawn)
    except (ValueError, RecursionError):  # it has been made hostile before
        return _replaced(content, drawn)


def _of_message(content: bytes, message: object, drawn: random.Random) -> bytes:
    if not list(_nonsense._places(message)):
        return _replaced(content, drawn)
    chance = drawn.random()
    if chance < _RARE and isinstance(message, dict):
        text = _nonsense.MAKERS[drawn.choice(_HEAVY)](message, drawn)
    elif chance < 0.55:
        text = _hostile_values(message, drawn)
    elif chance < 0.75:
        text = _spliced(message, drawn)
    else:
        name = drawn.choice(_LIGHT)
        text = _nonsense.MAKERS[name](message, drawn) if isinstance(message, dict) else content.decode()
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


_LIGHT = ("truncated", "garbled", "wrong types", "fields missing", "fields too many", "same key twice")
_HEAVY = ("deeply nested", "huge texts", "too large")


def _hostile_values(message: object, drawn: random.Random) -> str:
    marks: dict[str, str] = {}
    for number in range(drawn.choice((1, 1, 1, 2, 4))):
        places = list(_nonsense._places(message))
        if not places:
            break
        holder, key = drawn.choice(places)
        choice = drawn.random()
        if choice < 0.4:
            holder[key] = drawn.choice(HOSTILE_TEXTS)
        elif choice < 0.6:
            holder[key] = f"@@{number}"
            marks[f'"@@{number}"'] = drawn.choice(HOSTILE_NUMBERS)
        elif choice < 0.75:
            holder[key] = drawn.choice(
                (None, True, False, 0, -1, 1.5, "x", [], {}, [[]], [None], {"a": {}}, 10**20)
            )
        elif choice < 0.85:
            deep = drawn.choice((3, 20, 90, 300, 900, drawn.randint(930, 1000)))
            holder[key] = f"@@{number}"
            marks[f'"@@{number}"'] = "[" * deep + "]" * deep
        elif isinstance(holder, dict):
            holder[drawn.choice(HOSTILE_TEXTS)] = holder.pop(key)
        else:
            holder.insert(key, drawn.choice((None, 1, "a", [], {})))
    text = json.dumps(message)
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return text


def _spliced(message: object, drawn: random.Random) -> str:
    """A part of the document in the place of another."""
    for _ in range(drawn.choice((1, 1, 2))):
        places = list(_nonsense._places(message))
        if not places:
            break
        holder, key = drawn.choice(places)
        source, other = drawn.choice(places)
        holder[key] = json.loads(json.dumps(source[other]))
    return json.dumps(message)


# ---- archives


@lru_cache(maxsize=32)
def _members(content: bytes) -> tuple[tuple[str, bytes], ...]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return tuple((name, archive.read(name)) for name in archive.namelist())


def _archive(content: bytes, drawn: random.Random) -> bytes:
    chance = drawn.random()
    if chance < 0.1:
        return _flipped(_packed(dict(_members(content))), drawn)
    if chance < 0.13:
        return _cut(content, drawn)
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
    elif kind == 6 and drawn.random() < 10 * _RARE:
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
