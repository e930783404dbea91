"""Static sites: folders of files that any web host serves and a browser opens from the disk.

One item is a single page; several are a gallery with a folder per item.
"""

from __future__ import annotations

import io
import math
import zipfile
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify

from inference import __version__
from inference.core.mapping import Uops, ports_in
from inference.features.judging.engine.tables import csv_of
from inference.features.publishing.site.request import PublishedItem, page_of_item
from inference.figures.card import PictureCard
from inference.formats.problems import ExchangeError
from inference.models import Machine
from inference.web.presentation import COLOURS, MINUS, UNKNOWN
from inference.web.published_page import (
    CellKind,
    PrivateWords,
    PublishedColumn,
    PublishedPage,
    PublishedPicture,
    PublishedTable,
    Value,
)

_STYLES, _SCRIPT = ("css/tokens.css", "css/published.css"), "js/published.js"
_MAX_OPTIONS = 40
"""Maximum number of distinct texts for which a column is offered as a filter."""


@dataclass(frozen=True)
class PageFrame:
    """The surroundings of a page.

    Attributes:
        linked: Style and script are files of the site; otherwise they are inlined.
        home: Address of the gallery, "" for a single page.
        address: Absolute address of the page, "" if unknown.
        card: Address of its picture.
        files: (label, address) of the downloads.
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
    return framed_html("inference/publishing/page.html", frame, page=page, sections=sections)


def framed_html(template: str, frame: PageFrame, **context: object) -> str:
    """The HTML of a page with its frame."""
    inlined = {} if frame.linked else {"style": _text_of(*_STYLES), "script": _text_of(_SCRIPT)}
    frame_context = {"frame": frame, "version": __version__, "policy": _policy(**inlined)}
    return render_to_string(template, {**context, **inlined, **frame_context})


def _policy(style: str = "", script: str = "") -> str:
    """The Content-Security-Policy of a page: only these texts, or files of the page's own site if they are
    "".

    Pictures may also come from `file:`, because a page on a disk has no site of its own. Directives that
    browsers accept only in a header, such as `frame-ancestors`, are up to the web host.
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
    """Style sheets or scripts to inline in a page; they contain no end tags."""
    texts = []
    for name in names:
        path = finders.find(name)
        assert isinstance(path, str), f"{name} is part of this program"
        texts.append(Path(path).read_text(encoding="utf-8"))
    return mark_safe("\n".join(texts))  # noqa: S308  files of this program


def table_html(table: PublishedTable) -> SafeString:
    """Head and body of a table. Cells whose text does not sort have a sort key."""
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
    (column, value), *remaining = zip(columns, row, strict=True)
    cells = "".join(f"<td{_attributes(*pair)}>{_cell(*pair)}</td>" for pair in remaining)
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
    return escape(format_cell(value, column.decimals))


def format_cell(value: str | float, decimals: int) -> str:
    """Strings and whole numbers unchanged (with thousands separators), others with `decimals` digits."""
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
    """The filters of a table: each column of choices with its position, title and the texts that occur."""
    filters = []
    for place, column in enumerate(table.columns):
        texts = {row[place] for row in table.rows} if column.kind is CellKind.CHOICE else set()
        options = sorted(str(text) for text in texts if text)
        if 1 < len(options) <= _MAX_OPTIONS:
            filters.append({"place": place, "title": column.title, "options": options})
    of_uops = [place for place, column in enumerate(table.columns) if column.kind is CellKind.UOPS]
    if len(of_uops) == 1:
        ports = list(table.columns[of_uops[0]].ports)
        filters.append({"place": of_uops[0], "title": "Port", "options": ports})
    return filters


Files = Mapping[str, bytes]
INDEX, CARD = "index.html", "card.png"
_MARK = ".pmweb-site"
"""Marks a folder as written by this program, which may overwrite it."""

_FOR_ALL, _FOLDER_FOR_ALL = 0o644, 0o755
"""Readable by all users, because a web server runs as another user."""

_ZIP_TIME = (2020, 1, 1, 0, 0, 0)
"""Time of every member of a zip, so that equal sites give equal zips."""


def private_words() -> PrivateWords:
    """{private name: replacement}: names of computers become their processor's, user and host names "…"."""
    machines = list(Machine.objects.filter(kind=Machine.Kind.AGENT).values_list("name", "cpu", "facts"))
    names = {
        cpu: cpu for _, cpu, _ in machines if cpu
    }  # a processor's name stays, even if it contains a machine's name
    names |= dict.fromkeys(get_user_model().objects.values_list("username", flat=True), "…")
    for name, cpu, facts in machines:
        host = facts.get("host", "") if isinstance(facts, dict) else ""
        names |= {str(secret): cpu or "a machine" for secret in (name, host) if secret}
    names |= {host: "…" for host in settings.ALLOWED_HOSTS if len(host) > 1}
    return PrivateWords(names)


def pages_of(items: Sequence[PublishedItem], title: str = "", text: str = "") -> list[PublishedPage]:
    """The pages of these items; title and text belong to the page of a single item, else to the gallery.

    Raises `ExchangeError`.
    """
    private = private_words()
    single = len(items) == 1
    return [page_of_item(item, private, title if single else "", text if single else "") for item in items]


def build_site(items: Sequence[PublishedItem], title: str = "", text: str = "") -> tuple[str, Files]:
    """The site's title and its files. Raises `ExchangeError` for a deleted item."""
    pages = pages_of(items, title, text)
    return title or pages[0].title, site_of(pages, title, text)


def site_of(pages: Sequence[PublishedPage], title: str = "", text: str = "") -> Files:
    """The files of one page, or of a gallery. Raises `ExchangeError` if `pages` is empty."""
    if not pages:
        raise ExchangeError("choose at least one item to publish")
    if len(pages) == 1:
        return {**page_files(pages[0]), _MARK: b""}
    files: dict[str, bytes] = {_MARK: b""}
    folders = _folders(pages)
    for folder, page in zip(folders, pages, strict=True):
        own_files = page_files(page, home=f"../{INDEX}")
        files |= {f"{folder}/{name}": content for name, content in own_files.items()}
    files[INDEX] = _gallery(pages, folders, title or "Gallery", text).encode()
    files[CARD] = _gallery_card(pages, title or "Gallery").png()
    return files


def page_files(
    page: PublishedPage, home: str = "", *, linked: bool = False, address: str = ""
) -> dict[str, bytes]:
    """{path: content} of a page with its data, pictures and card; `linked` and `address` as in
    `PageFrame`.
    """
    files: dict[str, bytes] = {f"data/{name}": text.encode() for name, text in page.documents.items()}
    labels = [(name, f"data/{name}") for name in page.documents]
    for section in page.sections:
        if isinstance(section, PublishedPicture):
            path, content = f"pictures/{section.key}.svg", section.drawing.file()
        else:
            path, content = f"data/{section.key}.csv", csv_of(section)
        files[path] = content.encode()
        labels.append((f"{section.title} ({path.rpartition('.')[2].upper()})", path))
    files[CARD] = card_of(page).png()
    frame = PageFrame(linked, home, address, f"{address}{CARD}", tuple(labels))
    files[INDEX] = page_html(page, frame).encode()
    return files


def card_of(page: PublishedPage) -> PictureCard:
    """The picture card of a page: its first facts, and the share of schemes that use each port."""
    counts = [0] * len(page.ports)
    for uops, _ in page.usage.values():
        for port in {port for mask, _ in uops for port in ports_in(mask)}:
            counts[port] += 1
    highest_count = max(counts, default=0) or 1
    bars = tuple((name, count / highest_count) for name, count in zip(page.ports, counts, strict=True))
    return PictureCard(page.title, page.subtitle, tuple((f.text, f.label) for f in page.facts), bars)


def _gallery_card(pages: Sequence[PublishedPage], title: str) -> PictureCard:
    return PictureCard(title, ", ".join(page.title for page in pages), ((str(len(pages)), "pages"),))


@dataclass(frozen=True)
class _Entry:
    folder: str
    title: str
    subtitle: str
    summary: str


def _gallery(pages: Sequence[PublishedPage], folders: Sequence[str], title: str, text: str) -> str:
    entries = [
        _Entry(folder, page.title, page.subtitle, page.summary)
        for folder, page in zip(folders, pages, strict=True)
    ]
    table = _side_by_side([page for page in pages if page.usage])
    section = (
        None
        if table is None
        else {
            "key": table.key,
            "title": table.title,
            "note": table.note,
            "table": table_html(table),
            "filters": filters_of(table),
        }
    )
    context: dict[str, Any] = {"pages": entries, "title": title, "text": text, "section": section}
    return framed_html("inference/publishing/gallery.html", PageFrame(), **context)


def _side_by_side(pages: Sequence[PublishedPage]) -> PublishedTable | None:
    """Every scheme with its µops and cycles on each core; None for fewer than two pages."""
    if len(pages) < 2:
        return None
    columns = [PublishedColumn("Scheme", CellKind.CODE)]
    for page in pages:
        columns.append(PublishedColumn(page.title, CellKind.UOPS, ports=page.ports))
        columns.append(PublishedColumn("Cycles", CellKind.NUMBER))
    rows = []
    for text in dict.fromkeys(text for page in pages for text in page.usage):
        row: list[Value] = [text]
        for page in pages:
            row += page.usage.get(text, (None, None))
        rows.append(tuple(row))
    note = "µops by the ports that can execute them, and cycles of one instance alone: inverse throughput."
    return PublishedTable("schemes", "Side by side", tuple(columns), tuple(rows), note)


def _folders(pages: Sequence[PublishedPage]) -> list[str]:
    """A unique folder name per page, from its title."""
    names: list[str] = []
    for page in pages:
        base = slugify(page.title)[:60] or str(page.kind)
        number, name = 1, base
        while name in names:
            number += 1
            name = f"{base}-{number}"
        names.append(name)
    return names


def zip_files(files: Files) -> bytes:
    """The files as a zip; equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(files):
            member = zipfile.ZipInfo(path, _ZIP_TIME)
            member.external_attr = _FOR_ALL << 16
            archive.writestr(member, files[path], zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def write_folder(files: Files, folder: Path) -> None:
    """Writes the site into an empty or new folder, or over a published one.

    Raises `ExchangeError` if the folder has other content, and `OSError` if it cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise ExchangeError(f"{folder} is a file: choose an empty or new folder")
    if folder.exists() and any(folder.iterdir()) and not (folder / _MARK).exists():
        raise ExchangeError(f"{folder} has other content: choose an empty or new folder")
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(_FOR_ALL)
    for directory in {folder, *((folder / path).parent for path in files)}:
        directory.chmod(_FOLDER_FOR_ALL)
