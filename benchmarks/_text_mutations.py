"""Texts that nobody should send, each made from a sound one: pieces replaced, moved, repeated, cut."""

from __future__ import annotations

import random
from collections.abc import Callable

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


RARE = 0.004
"""How often each of the kinds that take a hundred times as long is drawn."""

Text = Callable[[bytes, random.Random], bytes]


def replaced_piece(content: bytes, drawn: random.Random) -> bytes:
    start = drawn.randint(0, len(content))
    end = start + drawn.choice((0, 0, 1, 1, 2, 8, 40))
    return content[:start] + drawn.choice(_SNIPPETS) + content[end:]


def flipped_bytes(content: bytes, drawn: random.Random) -> bytes:
    changed = bytearray(content or b" ")
    for _ in range(drawn.choice((1, 1, 2, 4, 16))):
        changed[drawn.randrange(len(changed))] = drawn.choice((drawn.randrange(256), 0, 255, 127))
    return bytes(changed)


def cut_text(content: bytes, drawn: random.Random) -> bytes:
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


TEXT_MUTATIONS: tuple[Text, ...] = (
    replaced_piece,
    flipped_bytes,
    cut_text,
    _repeated,
    _moved,
    _cell,
    _cell,
    _entities,
)


def large_text(content: bytes, drawn: random.Random) -> bytes:
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
