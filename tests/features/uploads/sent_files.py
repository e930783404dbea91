"""Files that tests send, and what comes of them."""

from __future__ import annotations

from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import QuerySet
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from inference.models import Run, Upload
from tests.rows.library import ADD, IMUL
from tests.work import read_uploads

CSV = f'experiment,cycles,note\n"2*{ADD}; {IMUL}",1.02,two ports\n"{ADD}",0.25,\n'.encode()


def send(visitor: Client, *files: tuple[str, bytes]) -> list[Upload]:
    """Upload files through the form."""
    before = set(Upload.objects.values_list("pk", flat=True))
    answer = visitor.post(reverse("upload"), {"files": [SimpleUploadedFile(*file) for file in files]})
    assert answer.status_code == 302
    read_uploads()
    return list(Upload.objects.exclude(pk__in=before).order_by("pk"))


def shown(visitor: Client, upload: Upload, **choices: object) -> HttpResponse:
    """The preview, after reading the file as the form then asks for."""
    if choices:
        answer = visitor.post(reverse("upload-read", args=[upload.pk]), choices)
        assert (answer.status_code, answer["Location"]) == (302, preview_url(upload))
        read_uploads()
    return visitor.get(preview_url(upload))


def imports() -> QuerySet[Run]:
    return Run.objects.filter(kind="import")


def preview_url(upload: Upload) -> str:
    return reverse("upload-preview", args=[upload.pk])


BROKEN = f'experiment,cycles\n"{ADD}",0.25\n"{ADD}",fast\n"x{IMUL}; {ADD}",1\n"{IMUL}",1\n'.encode()
