"""A basic-block set of 100,000 blocks in three columns: how long its import takes, and its pages.

`import`: wall seconds of the run that reads an uploaded CSV file, checks and stores it, in this process as
a worker does it, with its CPU seconds; `import-memory`: what its memory grows by at most. `accuracy`: seconds
of the run that compares the columns with one of them. The others are medians of requests in this process,
without network: the first page of the set; sorted by a column; searched for mnemonics; the numbers of its
columns; their accuracy, as that run found it. CPU times stand beside them.
"""

from __future__ import annotations

import io
import random
from collections.abc import Iterator

from anica_app.core.block_domain import BlockDomain
from benchmarks import Result
from benchmarks._in_process_worker import done
from benchmarks._measured import cost_of, page_result, peak_mebibytes
from benchmarks._sites import administrators_client, temporary_database
from inference.models import BasicBlockSet, Upload

BLOCKS = 100_000
_POOL, _MAX_LENGTH = 3000, 6
_REQUESTS = 11  # per page, of which the median counts


def run(quick: bool) -> Iterator[Result]:
    """Import, comparison, pages; `quick` has a tenth of the blocks."""
    rows = BLOCKS // 10 if quick else BLOCKS
    content = generated_csv(rows)
    with temporary_database():
        yield from _imported(content, rows)
        made = BasicBlockSet.objects.get()
        config: dict[str, object] = {"block_set": made.pk, "reference": made.columns.get(position=0).pk}
        cost = cost_of(lambda: done("accuracy", config))
        yield Result("accuracy", round(cost.wall, 2), "s", more={"blocks": rows})
        yield from _pages(made)


def generated_csv(rows: int) -> bytes:
    """A file with blocks of one to twelve instructions and three columns that scatter around each other."""
    dice = random.Random(1)
    domain = BlockDomain.of()
    free = [domain.unconstrained(length) for length in range(1, _MAX_LENGTH + 1)]
    drawn = (domain.sample(dice.choice(free), dice) for _ in range(_POOL))
    pool = [block.code.hex() for block in drawn if block is not None]
    out = io.StringIO()
    out.write("bb,measured,first tool,second tool\n")
    for _ in range(rows):
        cycles = dice.randint(25, 3000) / 100
        first = round(cycles * dice.uniform(0.6, 1.6), 2)
        second = -1.0 if dice.random() < 0.01 else round(cycles * 1.1, 2)
        out.write(f"{dice.choice(pool)}{dice.choice(pool)},{cycles},{first},{second}\n")
    return out.getvalue().encode()


def _imported(content: bytes, rows: int) -> Iterator[Result]:
    upload = Upload.objects.create(file_name="generated.csv", beginning=content, sha256="0" * 64)
    before = peak_mebibytes()
    cost = cost_of(lambda: done("import-anica", {"upload": upload.pk}))
    more = {"blocks": rows, "bytes": len(content), "cpu_seconds": round(cost.cpu, 2), "limit": 20.0}
    yield Result("import", round(cost.wall, 2), "s", more=more)
    yield Result("import-memory", round(peak_mebibytes() - before, 1), "MB", more={"blocks": rows})


def _pages(made: BasicBlockSet) -> Iterator[Result]:
    """Times of the set's pages: listed, sorted by a column, searched, and its other tabs."""
    client = administrators_client()
    for case, query in (
        ("blocks", ""),
        ("by-column", f"?sort=-column-{made.columns.get(position=1).pk}"),
        ("search", "?q=imul -add"),
        ("columns", "?tab=columns"),
        ("accuracy", "?tab=accuracy"),
    ):
        url = f"/block-sets/{made.pk}/{query}"
        yield page_result(client, case, url, _REQUESTS, {"blocks": made.size})
