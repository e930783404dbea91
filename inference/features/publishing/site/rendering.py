"""Published values as HTML and CSV.

The rows of a table are written here and not by a template: a page may have thousands of them.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from inference import __version__
from inference.core.mapping import Uops, ports_in
from inference.web.presentation import COLOURS, MINUS, UNKNOWN
from inference.web.published_page import (
    CellKind,
    PublishedColumn,
    PublishedPage,
    PublishedPicture,
    PublishedTable,
    Value,
)

_STYLES, _SCRIPT = ("css/tokens.css", "css/published.css"), "js/published.js"
_FEW = 40
"""Different texts up to which a column of choices is offered as a filter."""


@dataclass(frozen=True)
class PageFrame:
    """What is around a page. `linked`: style and script are the site's, else they stand in the page.

    `home`: the address of the gallery it belongs to, "" for none; `address`: its own, absolute, where that is
    known, and `card` that of its picture. `files`: (label, address) of what can be downloaded.
    """

    linked: bool = False
    home: str = ""
    address: str = ""
    card: str = "card.png"
    files: tuple[tuple[str, str], ...] = ()


def page_html(page: PublishedPage, frame: PageFrame) -> str:
    sections = [
        {
            "key": section.key,
            "title": section.title,
            "note": section.note,
            "picture": mark_safe(section.drawing.inline())  # noqa: S308  what is in it was escaped
            if isinstance(section, PublishedPicture)
            else "",
            "alone": isinstance(section, PublishedPicture) and section.alone,
            "table": table_html(section) if isinstance(section, PublishedTable) else "",
            "filters": filters_of(section) if isinstance(section, PublishedTable) else (),
            "count": len(section.rows) if isinstance(section, PublishedTable) else 0,
        }
        for section in page.sections
    ]
    return whole_html("inference/publishing/page.html", frame, page=page, sections=sections)


def whole_html(template: str, frame: PageFrame, **context: object) -> str:
    """A page of a published site in its frame."""
    around = {} if frame.linked else {"style": _text_of(*_STYLES), "script": _text_of(_SCRIPT)}
    more = {"frame": frame, "version": __version__, "policy": _policy(**around)}
    return render_to_string(template, {**context, **around, **more})


def _policy(style: str = "", script: str = "") -> str:
    """The Content-Security-Policy of a page: nothing but these texts, or else files of its own site.

    On the disk, where a page has no site, pictures come from files. What a browser heeds in a header alone,
    such as `frame-ancestors`, is up to the web host.
    """
    return (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; "
        "img-src 'self' file: data:; base-uri 'none'; form-action 'none'"
    )


def _source(text: str) -> str:
    if not text:
        return "'self'"
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@cache
def _text_of(*names: str) -> SafeString:
    """Own files of the site, which hold no end tag, to stand in a page as they are."""
    texts = []
    for name in names:
        path = finders.find(name)
        assert isinstance(path, str), f"{name} is a part of this program"
        texts.append(Path(path).read_text(encoding="utf-8"))
    return mark_safe("\n".join(texts))  # noqa: S308  our own style sheets and script


def table_html(table: PublishedTable) -> SafeString:
    """Head and rows, with what cells are sorted by where that is not their text."""
    heads = "".join(
        f'<th scope="col"{_CLASSES[column.kind]} data-kind="{column.kind}"><button type="button">'
        f"{escape(column.title)}</button></th>"
        for column in table.columns
    )
    rows = "".join(_row(row, table.columns) for row in table.rows)
    return mark_safe(f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody>")  # noqa: S308  escaped above


_CLASSES = {
    CellKind.TEXT: "",
    CellKind.CHOICE: "",
    CellKind.CODE: ' class="code"',
    CellKind.NUMBER: ' class="num"',
    CellKind.UOPS: ' class="uops"',
}


def _row(row: Sequence[Value], columns: Sequence[PublishedColumn]) -> str:
    (column, value), *others = zip(columns, row, strict=True)
    cells = "".join(f"<td{_attributes(*pair)}>{_cell(*pair)}</td>" for pair in others)
    return f'<tr><th scope="row"{_attributes(column, value)}>{_cell(column, value)}</th>{cells}</tr>'


def _attributes(column: PublishedColumn, value: Value) -> str:
    classes = _CLASSES[column.kind]
    if column.kind is CellKind.UOPS and isinstance(value, tuple):
        return f'{classes} data-n="{sum(count for _, count in value)}"'
    if column.kind is CellKind.NUMBER and isinstance(value, str) and value:
        return f'{classes} data-n="{escape(value.rpartition("–")[2])}"'
    return classes


def _cell(column: PublishedColumn, value: Value) -> str:
    if value is None or value == "":
        return UNKNOWN if column.kind is CellKind.NUMBER else ""
    if isinstance(value, tuple):
        return _chips(value, column.ports)
    return escape(shown(value, column.decimals))


def shown(value: str | float, decimals: int) -> str:
    """A value as people read it: whole numbers as they are, others with so many decimals."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}".replace("-", MINUS)
    return f"{value:,.{decimals}f}".replace("-", MINUS) if math.isfinite(value) else "∞"


def _chips(uops: Uops, ports: Sequence[str]) -> str:
    """`2× [0][1] + [5]`, each port's name on its colour; "none" where there are no µops."""
    if not any(count for _, count in uops):
        return '<span class="muted">none</span>'
    kinds = []
    for mask, count in uops:
        chips = "".join(f'<i class="p{port % COLOURS}">{escape(ports[port])}</i>' for port in ports_in(mask))
        kinds.append(f"{count}× {chips}" if count != 1 else chips)
    return " + ".join(kinds)


def filters_of(table: PublishedTable) -> list[dict[str, object]]:
    """A choice for each column of choices: its place, its title, and the texts that occur."""
    found = []
    for place, column in enumerate(table.columns):
        texts = {row[place] for row in table.rows} if column.kind is CellKind.CHOICE else set()
        options = sorted(str(text) for text in texts if text)
        if 1 < len(options) <= _FEW:
            found.append({"place": place, "title": column.title, "options": options})
    of_uops = [place for place, column in enumerate(table.columns) if column.kind is CellKind.UOPS]
    if len(of_uops) == 1:
        ports = list(table.columns[of_uops[0]].ports)
        found.append({"place": of_uops[0], "title": "Port", "options": ports})
    return found
