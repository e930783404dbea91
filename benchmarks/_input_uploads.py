"""Hostile files through the pages: uploaded, looked at, imported by a worker; a refused one leaves no row."""

from __future__ import annotations

import io
import logging
import random
from collections.abc import Iterator
from typing import Any

from django.test import Client
from django.urls import reverse

from benchmarks._input_importers import IMPORTERS
from benchmarks._input_mutations import mutated
from benchmarks._input_site import row_counts
from benchmarks._survey import Survey
from benchmarks._text_mutations import TEXTS

_PARSED_ALONE = ("back-up", "agent-message", "instruction-set")
_ENDINGS = (".csv", ".json", ".xml", ".zip", "", ".csv.gz")


class _Named(io.BytesIO):
    """A file of any name, also of one that Django would give to none."""

    def __init__(self, content: bytes, name: str) -> None:
        super().__init__(content)
        self.name = name


def fuzz_uploads(browser: Client, seed: int, n: int) -> Survey:
    """`n` uploads of all formats in turn, each with its preview, its import where offered, and its rows."""
    from inference.models import Upload

    logging.getLogger("django.request").setLevel(logging.CRITICAL)
    survey = Survey("uploads", seed)
    sound = {importer.name: importer.sound() for importer in IMPORTERS if importer.name not in _PARSED_ALONE}
    names = sorted(sound)
    for number in range(n):
        name = names[number % len(names)]
        drawn = random.Random(f"{seed} upload {number}")
        survey.sent[name] += 1
        content = mutated(sound[name], drawn)
        for fault in _one(browser, content, _file_name(drawn), survey):
            survey.expect(False, f"upload {number} ({name}): {fault}")
        Upload.objects.all().delete()
    return survey


def _file_name(drawn: random.Random) -> str:
    stem = drawn.choice((*TEXTS, *("plain",) * 20)).encode("utf-8", "replace").decode()[:100]
    return (stem.replace("\0", "") or "x") + drawn.choice(_ENDINGS)


def _one(browser: Client, content: bytes, file_name: str, survey: Survey) -> Iterator[str]:
    """Upload a file, preview and import it: yields what is wrong with the answers or the rows left."""
    from benchmarks._in_process_worker import read_uploads
    from inference.features.library.uploads.pages import NEW
    from inference.models import Run, Upload

    before = row_counts()
    answer = browser.post(reverse("upload"), {"files": [_Named(content, file_name)]})
    if answer.status_code >= 500:
        yield f"the upload answers {answer.status_code}"
        return
    found = Upload.objects.values_list("pk", flat=True).first()
    if found is None:
        survey.outcomes["refused at once"] += 1
        if answer.status_code < 400:
            yield f"nothing is kept, and the answer is {answer.status_code}"
        if row_counts() != before:
            yield "a refused upload leaves rows"
        return
    read_uploads()
    browser.post(reverse("upload-read", args=[found]), {"isa": NEW, "microarchitecture": "SKL"})
    read_uploads()
    page = reverse("upload-preview", args=[found])
    preview = browser.get(page, follow=True)
    if preview.status_code != 200:
        yield f"the preview answers {preview.status_code}"
        return
    where = preview.redirect_chain[-1][0] if preview.redirect_chain else page
    answers = {"name": f"import {found}", "new_isa": f"isa {found}", "note": "<b>=1</b>", "broken": "skip"}
    started = browser.post(where, answers)
    if started.status_code >= 500:
        yield f"starting the import answers {started.status_code}"
    run = Run.objects.filter(upload=found).first()
    if run is None:
        survey.outcomes["refused in the preview"] += 1
        Run.objects.filter(upload_read=found).delete()
        if row_counts() != {**before, "inference_upload": before["inference_upload"] + 1}:
            yield "a refused preview leaves rows"
        return
    yield from _imported(browser, run, survey)


def _imported(browser: Client, run: Any, survey: Survey) -> Iterator[str]:
    """Let a worker do it; a file that it refuses leaves no row but the run's own."""
    from benchmarks._in_process_worker import work_off

    before = row_counts()
    work_off(run)
    survey.outcomes[f"import {run.state}"] += 1
    if run.state == "failed":
        if "Traceback" in run.error or not run.error:
            yield f"the import fails: {run.error[-300:]}"
        after = row_counts()
        own = ("inference_runevent", "inference_run")
        if left := {key for key, rows in after.items() if rows != before[key] and key not in own}:
            yield f"a refused import leaves rows in {sorted(left)}"
    for page in [reverse("runs"), *_pages(run)]:
        if (status := browser.get(page, follow=True).status_code) >= 500:
            yield f"{page} answers {status}"


def _pages(run: Any) -> Iterator[str]:
    """Of the run, and of what it has made."""
    names = {"imported_run": "run", "experiment_set": "set", "mapping": "mapping"}
    names |= {"resource_mapping": "resource-mapping", "campaign": "campaign", "block_set": "block-set"}
    yield reverse("run", args=[run.pk])
    for key, name in names.items():
        if run.result.get(key):
            yield reverse(name, args=[run.result[key]])
