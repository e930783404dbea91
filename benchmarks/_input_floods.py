"""Small requests that cost much, sent to a real site, while another client asks whether it is well."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import product

from django.core.files.base import ContentFile
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from benchmarks import Result
from benchmarks._clients import Probe, Sender
from benchmarks._measured import mebibytes_of
from benchmarks._sites import database_in, launched_site
from benchmarks._survey import Survey
from benchmarks._text_mutations import PUMPED_WORDS
from pmweb.accounts.api_tokens import issue
from pmweb.accounts.people import ensure_administrator
from pmweb.models import Scope
from tests.launched import descendants

MAX_MILLISECONDS = 50.0
"""Of `/health/` (95th percentile) over what it takes while nothing happens."""

MAX_MIB = 400.0
"""Of memory, all processes of the site together, over what they take at rest."""

LARGEST_ANSWER = 100_000  # bytes; a refusal that quotes more of its input would be a flood itself
_PREVIEWS = 60  # texts of which a preview is asked for

BEGINNINGS = ("", "bb,a tool\n", "  401000:\t", "mov rax, [", "mode: ", "x 1 1.0: cycles: ")
ENDS = ("", "zz", "!\n?")
LENGTHS = (58, 2_000, 60_000)  # characters


BODIES: Mapping[str, Callable[[], bytes]] = {
    "unknown keys": lambda: _object(f'"k{number}":0' for number in range(560_000)),
    "as many keys as are read": lambda: _object(f'"k{number}":0' for number in range(24_000)),
    "numbers": lambda: b'{"code":[' + b"0," * 3_000_000 + b"0]}",
    "lists": lambda: b'{"code":[' + b"[]," * 2_000_000 + b"[]]}",
    "a long key": lambda: b'{"' + b"k" * (6 << 20) + b'":0}',
    "a repeated key": lambda: b'{"code":"nop","code":"ret"}',
    "nests": lambda: b'{"code":' + b"[" * 40_000 + b"]" * 40_000 + b"}",
}


def floods(quick: bool) -> Iterator[Result]:
    """All operations with a body, and previews: what became of them, of the probe and of memory."""
    with launched_site("--no-agent", environment={"PMWEB_PROCESSOR_SECONDS": "0"}) as site:
        with database_in(site.home):
            token = issue(ensure_administrator(), "floods", Scope.ADMINISTER, None)[1]
        sender = Sender("127.0.0.1", site.port, {"Authorization": f"Bearer {token}"})
        _preview(sender, "bb,a\n4801d8,1\n")  # whatever is started at the first use

        def probe() -> Probe:
            return Probe(sender, memory=lambda: mebibytes_of([site.pid, *descendants(site.pid)]))

        with probe() as rest:
            time.sleep(2.0 if quick else 10.0)
        bodies = {name: body() for name, body in BODIES.items()}  # the probe shares this process
        survey = Survey("floods")
        with probe() as flooded:
            for text, status, content in _answers(sender, bodies, quick):
                survey.outcomes[f"{status}"] += 1
                is_refused = 400 <= status < 500 and len(content) <= LARGEST_ANSWER
                survey.expect(is_refused, f"{text}: {status}, {len(content):,} bytes")
        yield survey.result()
    p95, quiet_p95 = flooded.milliseconds(0.95), rest.milliseconds(0.95)
    most = round(flooded.milliseconds(1.0), 1)
    more = {"probes": len(flooded.seconds), "rest": round(quiet_p95, 1), "most": most}
    yield Result("floods-health-p95", round(p95 - quiet_p95, 1), "ms over rest", MAX_MILLISECONDS, more)
    over_rest = round(flooded.mebibytes - rest.mebibytes, 1)
    memory = {"rest": round(rest.mebibytes, 1)}
    yield Result("floods-memory", over_rest, "MiB over rest", MAX_MIB, memory)


def _answers(sender: Sender, bodies: Mapping[str, bytes], quick: bool) -> Iterator[tuple[str, int, bytes]]:
    """(what was sent, status, content) of every body at every operation, and of previews of pumped texts."""
    from inference.web.api.document import operations_of
    from inference.web.api.site import document

    operations = [
        (method.upper(), path)
        for method, path, operation in operations_of(document())
        if "application/json" in operation.get("requestBody", {}).get("content", {})
    ]
    for method, path in operations[:: 10 if quick else 1]:
        # Whether there is such a row does not matter: bodies come first.
        filled = "/".join("1" if part.startswith("{") else part for part in path.split("/"))
        for name, body in bodies.items():
            yield (
                f"{name} to {method} {path}",
                *sender.send(method, filled, body, {"Content-Type": "application/json"}),
            )
    texts = pumped_texts()
    for text in texts[:: len(texts) // (_PREVIEWS // (10 if quick else 1))]:
        status, content = _preview(sender, text)
        # A preview that names problems is an answer; one that would be imported is not.
        acceptable = status == http.client.OK and json.loads(content)["acceptable"]
        yield f"preview of {text[:40]!r}", 200 if acceptable else max(status, 422) if status else 0, content


def pumped_texts() -> list[str]:
    """Texts of one word, repeated, which an ambiguous pattern reads in ever more ways: some two thousand."""
    choices = product(PUMPED_WORDS, BEGINNINGS, ENDS, LENGTHS)
    return [begin + word * (length // len(word)) + end for word, begin, end, length in choices]


def _preview(sender: Sender, text: str) -> tuple[int, bytes]:
    """Upload a text as a file, and look at what it would bring."""
    body = encode_multipart(BOUNDARY, {"files": ContentFile(text.encode(), "pumped.csv")})
    status, content = sender.send("POST", "/api/v1/uploads", body, {"Content-Type": MULTIPART_CONTENT})
    if status != http.client.CREATED:
        return status, content
    path = f"/api/v1/uploads/{json.loads(content)[0]['id']}"
    answer = sender.send("GET", path)
    sender.send("DELETE", path)
    return answer


def _object(fields: Iterator[str]) -> bytes:
    return f"{{{','.join(fields)}}}".encode()
