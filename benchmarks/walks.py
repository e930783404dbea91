"""How many of our files one has to open to follow something from one end to the other.

Each walk is done in this process, while a profiler notes the files whose functions run. Models, migrations
and the engine of runs are not counted, nor what runs for every page (middleware, log-in, the frame).
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePath
from types import FrameType
from typing import Any
from unittest.mock import patch

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.urls import reverse

from benchmarks import Result
from benchmarks._generated_site import Scale, generated_site
from benchmarks._in_process_worker import read_uploads, work_off
from benchmarks._sites import administrators_client, temporary_database
from inference.features.library.mappings.query import MappingSubject
from inference.isa.targets import X86
from inference.models import ExperimentSet, PortMapping, Run, Upload
from inference.storage.mappings import load_mapping
from inference.web import reading_process
from inference.web.contributions import PanelPlace, panels_of
from inference.web.reading_process import ANSWER_HEAD

_OURS = tuple(f"{settings.BASE_DIR}/{app}/" for app in ("pmweb", "inference", "anica_app"))
_APART = ("/models/", "/migrations/", "/inference/runs/")
_ISA = "inference/isa/"
_OWN = "/library/mappings/"
_ADD, _IMUL = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R"
_CSV = f'experiment,cycles\n"{_ADD}",0.25\n"{_IMUL}",1.0\n'
_CODE = "add rax, rbx\nimul rcx, rax"
_SCALE = Scale(2_000, 40, 5, 5, 20, 200, 50)
"""Small: pages are opened here for what they run through, not for their times."""


def run(quick: bool) -> Iterator[Result]:
    """Files of each walk beside how many there may be; `quick` changes nothing."""
    with temporary_database():
        world = generated_site(_SCALE)
        client = administrators_client()
        frame = _files_of(lambda: _get(client, reverse("glossary")))

        def walk(case: str, most: int, action: Callable[[], object], besides: str = "no file") -> Result:
            files = {file for file in _files_of(action) - frame if not file.startswith(besides)}
            return Result(case, len(files), "files", most, _places_of(files))

        discovery = reverse("discovery", args=[world.campaign.discoveries.order_by("number")[0].pk])
        yield walk("CSV to set", 12, lambda: _csv_to_set(client))
        yield walk(
            "pasted text to reasons", 12, lambda: _get(client, reverse("blocks"), isa=X86, code=_CODE), _ISA
        )
        yield walk("discovery's page", 14, lambda: _get(client, discovery))
        yield from _mapping_page(client, world.mapping, walk)


def _mapping_page(client: Client, row: PortMapping, walk: Callable[..., Result]) -> Iterator[Result]:
    """What all tabs of a mapping's page run is the page's own, but for what other features put on it."""
    address = reverse("mapping", args=[row.pk])
    names = [panel.name for panel in panels_of(PanelPlace.MAPPING, MappingSubject(row, load_mapping(row)))]
    tabs = [
        walk(f"mapping's panel {name}", 5, lambda name=name: _get(client, address, tab=name))
        for name in names
    ]
    shared = set.intersection(*(set(tab.more["files"]) for tab in tabs))
    page = {file for file in shared if not file.startswith("inference/features/") or _OWN in file}
    yield Result("mapping's page", len(page), "files", 14, _places_of(page))
    for tab in tabs:
        own = set(tab.more["files"]) - shared
        yield replace(tab, value=len(own), more=_places_of(own))


def _places_of(files: Set[str]) -> dict[str, Any]:
    """The files, and how many are in each folder."""
    folders = Counter(str(PurePath(file).parent) for file in files)
    return {"folders": dict(sorted(folders.items())), "files": sorted(files)}


def _get(client: Client, address: str, **query: str) -> None:
    answer = client.get(address, query)
    if answer.status_code != 200:
        raise RuntimeError(f"{address} answered {answer.status_code}")


def _csv_to_set(client: Client) -> None:
    """Upload a file, open its preview and import it. Raises `RuntimeError` where no set comes of it."""
    with _read_here():
        client.post(reverse("upload"), {"files": [SimpleUploadedFile("small.csv", _CSV.encode())]})
        read_uploads()
        upload = Upload.objects.latest("pk")
        _get(client, reverse("upload-preview", args=[upload.pk]))
        name = f"walk {ExperimentSet.objects.count()}"
        client.post(reverse("upload-preview", args=[upload.pk]), {"name": name, "note": ""})
        work_off(Run.objects.filter(kind="import").latest("pk"))
    if not ExperimentSet.objects.filter(name=name).exists():
        raise RuntimeError("the file has not become a set")


@contextmanager
def _read_here() -> Iterator[None]:
    """Files are read in a thread instead of a process, where the profiler sees it."""

    def send(request: bytes, there: socket.socket) -> None:
        threading.Thread(target=_answer, args=(json.loads(request), there.dup())).start()

    with patch.object(reading_process._server, "send", send):
        yield


def _answer(request: dict[str, Any], there: socket.socket) -> None:
    with there:
        status, text = reading_process._answer(request, there)
        there.sendall(ANSWER_HEAD.pack(status, 0.0) + text)
    connection.close()


def _files_of(action: Callable[[], object]) -> set[str]:
    """Those of which a function runs, in this thread and those that it starts.

    The second time, when all is imported: the bodies of classes run as their module is imported, and so do
    functions that make its constants.
    """
    action()
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            files.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    ours = (file for file in files if file.startswith(_OURS))
    return {
        file.removeprefix(f"{settings.BASE_DIR}/")
        for file in ours
        if not any(part in file for part in _APART)
    }
