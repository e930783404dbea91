"""What uploaded files and pasted texts with blocks are, found out apart from the web process."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence

from inference.core.protocols import Json
from inference.formats.block_files import BlockFileSort, block_file_of
from inference.formats.block_sets import BlockSetOptions, Bounds, look
from inference.formats.blocks_csv import Broken
from inference.formats.perf_texts import is_annotate
from inference.web.reading_process import READING_SECONDS, read_apart


def sort_apart(content: bytes) -> BlockFileSort | None:
    """As `block_file_of`. Raises `ExchangeError` where that takes too long."""
    name = read_apart(_sort, content).decode()
    return BlockFileSort(name) if name else None


def have_samples(beginnings: Sequence[bytes]) -> list[bool]:
    """Which of the files that begin so have samples of perf. Raises `ExchangeError` as `sort_apart` does."""
    sizes = [len(beginning) for beginning in beginnings]
    answers: list[bool] = json.loads(read_apart(_have_samples, b"".join(beginnings), sizes=sizes))
    return answers


def look_apart(content: bytes, file_name: str, broken: str, issue_width: float | None) -> Json:
    """What a file of blocks would become. Raises `ExchangeError` where that takes too long."""
    options = {"file_name": file_name, "broken": broken, "issue_width": issue_width}
    answer: Json = json.loads(read_apart(_look, content, seconds=READING_SECONDS, **options))
    return answer


def _sort(content: bytes) -> bytes:
    return (block_file_of(content) or "").encode()


def _have_samples(content: bytes, sizes: Sequence[int]) -> bytes:
    file = io.BytesIO(content)
    return json.dumps([_has_samples(file.read(size)) for size in sizes]).encode()


def _has_samples(beginning: bytes) -> bool:
    sort = block_file_of(beginning)
    return sort is BlockFileSort.SAMPLES or (
        sort is BlockFileSort.LISTING and is_annotate(beginning.decode("utf-8-sig", "replace"))
    )


def _look(content: bytes, file_name: str, broken: str, issue_width: float | None) -> bytes:
    reading = BlockSetOptions(Broken(broken), bounds=Bounds(issue_width))
    return json.dumps(look(io.BytesIO(content), file_name, reading).as_json()).encode()
