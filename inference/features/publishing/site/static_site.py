"""A static site: a folder of files that any web host serves and a browser opens from the disk.

One thing is a page of its own; several are a gallery with a folder for each.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.utils.text import slugify

from inference.core.mapping import ports_in
from inference.features.judging.engine.tables import csv_of
from inference.features.publishing.site.kinds import PublishedItem, page_of_item
from inference.features.publishing.site.rendering import (
    PageFrame,
    filters_of,
    page_html,
    table_html,
    whole_html,
)
from inference.figures.card import PictureCard
from inference.formats.errors import ExchangeError
from inference.models import Machine
from inference.web.published_page import (
    CellKind,
    PrivateWords,
    PublishedColumn,
    PublishedPage,
    PublishedPicture,
    PublishedTable,
    Value,
)

Files = Mapping[str, bytes]
"""{path within the folder: content}."""

INDEX, CARD = "index.html", "card.png"
_MARK = ".pmweb-site"
"""In a folder that this program has made, which it may write anew."""

_FOR_ALL, _FOLDER_FOR_ALL = 0o644, 0o755
"""A web server reads as another user; what is published is for everybody."""

_ZIP_TIME = (2020, 1, 1, 0, 0, 0)
"""Of every member: the same site is the same zip."""


def private_words() -> PrivateWords:
    """Names of computers and people of this site. A machine is called by its processor instead."""
    machines = list(Machine.objects.filter(kind=Machine.Kind.AGENT).values_list("name", "cpu", "facts"))
    names = {cpu: cpu for _, cpu, _ in machines if cpu}  # whatever words of it are names of machines
    names |= dict.fromkeys(get_user_model().objects.values_list("username", flat=True), "…")
    for name, cpu, facts in machines:
        host = facts.get("host", "") if isinstance(facts, dict) else ""
        names |= {str(secret): cpu or "a machine" for secret in (name, host) if secret}
    names |= {host: "…" for host in settings.ALLOWED_HOSTS if len(host) > 1}
    return PrivateWords(names)


def pages_of(items: Sequence[PublishedItem], title: str = "", text: str = "") -> list[PublishedPage]:
    """The pages of these things; a title and a text belong to the page of one, else to the gallery.

    Raises `ExchangeError`.
    """
    private = private_words()
    single = len(items) == 1
    return [page_of_item(item, private, title if single else "", text if single else "") for item in items]


def published(items: Sequence[PublishedItem], title: str = "", text: str = "") -> tuple[str, Files]:
    """The site's title and its files. Raises `ExchangeError` for an item that is gone."""
    pages = pages_of(items, title, text)
    return title or pages[0].title, site_of(pages, title, text)


def site_of(pages: Sequence[PublishedPage], title: str = "", text: str = "") -> Files:
    """The files of one page, or of a gallery. Raises `ExchangeError` without a page."""
    if not pages:
        raise ExchangeError("nothing was chosen to publish")
    if len(pages) == 1:
        return {**page_files(pages[0]), _MARK: b""}
    files: dict[str, bytes] = {_MARK: b""}
    folders = _folders(pages)
    for folder, page in zip(folders, pages, strict=True):
        made = page_files(page, home=f"../{INDEX}")
        files |= {f"{folder}/{name}": content for name, content in made.items()}
    files[INDEX] = _gallery(pages, folders, title or "Gallery", text).encode()
    files[CARD] = _gallery_card(pages, title or "Gallery").png()
    return files


def page_files(
    page: PublishedPage, home: str = "", *, linked: bool = False, address: str = ""
) -> dict[str, bytes]:
    """The page with its data, pictures and card; `linked` and `address` as `PageFrame` has them."""
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
    """The picture card of a page: its first facts, and how many schemes use each port."""
    counts = [0] * len(page.ports)
    for uops, _ in page.usage.values():
        for port in {port for mask, _ in uops for port in ports_in(mask)}:
            counts[port] += 1
    most = max(counts, default=0) or 1
    bars = tuple((name, count / most) for name, count in zip(page.ports, counts, strict=True))
    return PictureCard(page.title, page.subtitle, tuple((f.text, f.label) for f in page.facts), bars)


def _gallery_card(pages: Sequence[PublishedPage], title: str) -> PictureCard:
    return PictureCard(title, ", ".join(page.title for page in pages), ((str(len(pages)), "pages"),))


@dataclass(frozen=True)
class _Entry:
    """A page in the gallery."""

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
    return whole_html("inference/publishing/gallery.html", PageFrame(), **context)


def _side_by_side(pages: Sequence[PublishedPage]) -> PublishedTable | None:
    """Every scheme with its µops and cycles by each of the cores; None where there are not two of them."""
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
    """A name for each, which no other has."""
    found: list[str] = []
    for page in pages:
        wanted = slugify(page.title)[:60] or str(page.kind)
        number, name = 1, wanted
        while name in found:
            number += 1
            name = f"{wanted}-{number}"
        found.append(name)
    return found


def zipped(files: Files) -> bytes:
    """The folder as a zip; the same files give the same bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(files):
            member = zipfile.ZipInfo(path, _ZIP_TIME)
            member.external_attr = _FOR_ALL << 16
            archive.writestr(member, files[path], zipfile.ZIP_DEFLATED)
    return made.getvalue()


def write_folder(files: Files, folder: Path) -> None:
    """Write the site into an empty or new folder, or in place of one that was published before.

    Raises `ExchangeError` where something else is there, and `OSError` where it cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise ExchangeError(f"{folder} is a file; a folder that is empty or not yet there is needed")
    if folder.exists() and any(folder.iterdir()) and not (folder / _MARK).exists():
        raise ExchangeError(f"{folder} holds something else; choose a folder that is empty or not yet there")
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(_FOR_ALL)
    for made in {folder, *((folder / path).parent for path in files)}:
        made.chmod(_FOLDER_FOR_ALL)
