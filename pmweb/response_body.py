"""Bodies of responses, which need neither much memory nor a thread while a visitor reads them.

What a view has computed is in a file as soon as it is long, and is read from there piece by piece, as the
visitor takes it. However slowly somebody reads, the view, its thread and its connection to the database are
done with the request.
"""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from django.http import FileResponse, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

PIECE_BYTES = 1 << 16
IN_MEMORY_BYTES = 2 * PIECE_BYTES
"""Of a body; a longer one goes into a file."""


def is_endless(response: HttpResponseBase) -> bool:
    """Whether its body comes to be while it is sent, and can take as long as it likes."""
    return isinstance(response, StreamingHttpResponse) and response.is_async


def completed(response: HttpResponseBase) -> HttpResponseBase:
    """The response with all of its body computed, and closed."""
    try:
        if isinstance(response, StreamingHttpResponse):
            response.streaming_content = _pieces(_opened_again(response) or _spooled(response))
        elif isinstance(response, HttpResponse) and len(response.content) > IN_MEMORY_BYTES:
            parts = _pieces(_spooled(response))
            streaming = StreamingHttpResponse(parts, status=response.status_code, headers=response.headers)
            streaming.cookies = response.cookies
            return streaming
        return response
    finally:
        response.close()


def _opened_again(response: StreamingHttpResponse) -> IO[bytes] | None:
    """The file of a response that sends one, for whoever reads it when the response is closed."""
    file: Any = response.file_to_stream if isinstance(response, FileResponse) else None
    try:
        return None if file is None else os.fdopen(os.dup(file.fileno()), "rb")
    except io.UnsupportedOperation:  # it is in memory, or a part of one
        return None


def _spooled(response: StreamingHttpResponse | HttpResponse) -> IO[bytes]:
    file = SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115  closed by whoever has read it
    for part in response:
        file.write(part)
    file.seek(0)
    return file


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
            yield piece
