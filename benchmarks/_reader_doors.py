"""Every page and every operation of the API that reads assembly, for texts that nobody should send."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from django.core.files.base import ContentFile
from django.db import transaction
from django.test import Client
from django.urls import reverse

from benchmarks._input_site import furnished
from benchmarks._reader_texts import text_of
from benchmarks._reader_worker import MAX_SECONDS, SECRET, traced
from benchmarks._survey import FAILED, Survey

STARTS = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.spawn")
_MAX_ADDRESS_LENGTH = 3000  # characters of a text in an address; servers refuse much longer ones
_RARE = 40
"""One text in so many is uploaded as a file, which takes far longer than a page."""

Door = Callable[[str], Any]


def knocked(seed: int, many: int, file: str) -> Survey:
    """Send so many texts, each to a door of a site in this process, in turn."""
    for logger in ("django.request", "django.security"):
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    survey = Survey("pages", seed, MAX_SECONDS)
    opened = doors()
    names = list(opened)
    for door in opened.values():
        _answer(door, "nop")
    with traced() as events:
        for number in range(many):
            text = text_of(seed, number, file)
            name = "upload" if number % _RARE == 0 else names[number % len(names)]
            outcome = survey.attempt(lambda name=name, text=text: _answered(opened[name], text, name))  # type: ignore[misc]
            survey.count(outcome, text)
            for event in events:
                harmless = not event.startswith(STARTS) and file not in event
                survey.expect(harmless, f"{name}: it opens or starts {event}", text)
            events.clear()
    return survey


def doors() -> Mapping[str, Door]:
    """What sends a text to each place of a furnished site that reads assembly; the answer is a response."""
    from inference.core.mapping import PortMapping as Value
    from inference.isa.targets import X86
    from inference.models import ISA, PortMapping
    from inference.storage.mappings import store_mapping

    browser, token = furnished()
    usage = {"add GPR[64]:RW, GPR[64]:R": ((3, 1),)}
    value = Value(ports=("0", "1"), usage=usage)
    isa = ISA.objects.get(name=X86)
    mapping = store_mapping("two ports", isa, value, origin=PortMapping.Origin.IMPORT)
    program = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {token}"})

    def page(path: str, name: str, more: str = "") -> Door:
        return lambda text: browser.get(f"{path}?{more}{name}={_quoted(text[:_MAX_ADDRESS_LENGTH])}")

    def form(press: str) -> Door:
        kind = "application/x-www-form-urlencoded"
        return lambda text: browser.post(reverse("blocks"), f"press={press}&code={_quoted(text)}", kind)

    def operation(path: str, **more: Any) -> Door:
        return lambda text: program.post(
            f"/api/v1{path}", json.dumps({"code": text, **more}), "application/json"
        )

    return {
        "form": form("decode"),
        "address": page(reverse("blocks"), "code"),
        "loop": page(reverse("mapping", args=[mapping.pk]), "code", "tab=loop&"),
        "search": page(reverse("search"), "q"),
        "ask": form("ask"),
        "API blocks": operation("/blocks"),
        "API loads": operation(f"/mappings/{mapping.pk}/block-loads"),
        "API questions": operation("/questions", predictors=["mapping:mapping=two ports"]),
        "API explanations": operation("/explanations", predictors=["mapping:mapping=two ports"] * 2),
        "API search": lambda text: program.get(f"/api/v1/search?q={_quoted(text[:_MAX_ADDRESS_LENGTH])}"),
        "paste": lambda text: browser.post(reverse("block-set-paste"), {"text": _whole(text)}),
        "API preview": lambda text: _previewed(program, text),
        "upload": lambda text: _uploaded(browser, text),
    }


def _answered(door: Door, text: str, name: str) -> str:
    response = _answer(door, text)
    if response.status_code >= 500:
        return f"{FAILED}{name} answers {response.status_code}"
    content = b"".join(response.streaming_content) if response.streaming else response.content
    if SECRET[:8].hex().encode() in content.lower().replace(b" ", b"") or b"imul r15, r14" in content:
        return f"{FAILED}{name} shows the file's content"
    return f"{name}: {response.status_code}"


def _answer(door: Door, text: str) -> Any:
    """What a door says; whatever it has stored is taken back."""
    with transaction.atomic():
        response = door(text)
        transaction.set_rollback(True)
    return response


def _uploaded(browser: Client, text: str) -> Any:
    """The preview of a set of blocks with the text as a row, or the answer that refuses the file."""
    from benchmarks._in_process_worker import read_uploads
    from inference.models import Upload

    cell = text.replace('"', '""')
    rows = f'bb,a tool\n"{cell}",1.5\n'.encode("utf-8", "surrogatepass")
    content = ContentFile(rows, "blocks.csv")
    told = browser.post(reverse("upload"), {"files": [content]})
    number = Upload.objects.values_list("pk", flat=True).first()
    read_uploads()
    return told if number is None else browser.get(reverse("upload-preview", args=[number]), follow=True)


def _previewed(program: Client, text: str) -> Any:
    """What the API says of a file with the text."""
    from inference.models import Upload

    upload = Upload.objects.create(file_name="text", beginning=_whole(text).encode(), sha256="0" * 64)
    return program.get(f"/api/v1/uploads/{upload.pk}")


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"))
