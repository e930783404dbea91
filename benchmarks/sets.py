"""A file of 100,000 experiments becomes a set: how long its preview and its import take, and how much memory.

`preview`: wall seconds of the page's own work, reading and checking all of it. `import`: those of the run,
which reads it again and stores it, as a worker does it; CPU seconds stand beside both, 15 s is what they may
take together. `memory`: what this process grows by at most. `compare`, `merge`: of this set and the same
experiments, measured again.

`blocks-import`, `blocks-memory`: the same of a file of 100,000 basic blocks in three columns.
`blocks-accuracy`: seconds of comparing the columns with one of them. The other cases of blocks are medians of
requests in this process, without network: the first page of the set; sorted by a column; searched for
mnemonics; the numbers of its columns; their accuracy, as that comparison found it.
"""

from __future__ import annotations

import io
import random
from collections.abc import Iterator, Mapping

from anica_app.core.block_domain import BlockDomain
from benchmarks import Result
from benchmarks._in_process_worker import done
from benchmarks._measured import Cost, cost_of, page_result, peak_mebibytes
from benchmarks._sites import administrators_client, temporary_database
from inference.isa.targets import X86
from inference.models import ISA, BasicBlockSet, ExperimentSet, Run, Upload
from inference.storage.instruction_sets import load_supplied

ROWS, SCHEMES = 100_000, 2000
TOGETHER = 15.0  # seconds
BLOCKS_LIMIT = 20.0  # seconds
_POOL, _MAX_LENGTH = 3000, 6
_REQUESTS = 11  # per page, of which the median counts


def run(quick: bool) -> Iterator[Result]:
    """Experiments, then blocks; `quick` has a tenth of the rows."""
    rows = ROWS // 10 if quick else ROWS
    with temporary_database():
        isa = load_supplied(X86)[0]
        lines = _lines(isa, rows)
        yield from _imported(isa, lines)
        _import("again", _file(lines, seed=2))
        first, second = ExperimentSet.objects.order_by("id").values_list("pk", flat=True)
        more = {"rows": rows}
        pair = {"first": first, "second": second}
        yield _timed("compare", cost_of(lambda: done("compare-sets", pair)), more)
        config = {"sets": [first, second], "name": "merged", "conflicts": "median"}
        yield _timed("merge", cost_of(lambda: done("merge-sets", config)), more)
        yield from _blocks(rows)


def _blocks(rows: int) -> Iterator[Result]:
    """Import, comparison and pages of a set of blocks."""
    content = generated_csv(rows)
    upload = Upload.objects.create(file_name="generated.csv", beginning=content, sha256="1" * 64)
    before = peak_mebibytes()
    more = {"blocks": rows, "bytes": len(content)}
    cost = cost_of(lambda: done("import-anica", {"upload": upload.pk}))
    yield _timed("blocks-import", cost, {**more, "limit": BLOCKS_LIMIT})
    yield Result("blocks-memory", round(peak_mebibytes() - before, 1), "MB", more=more)
    block_set = BasicBlockSet.objects.get()
    config = {"block_set": block_set.pk, "reference": block_set.columns.get(position=0).pk}
    yield _timed("blocks-accuracy", cost_of(lambda: done("accuracy", config)), more)
    client = administrators_client()
    for case, query in (
        ("blocks", ""),
        ("by-column", f"?sort=-column-{block_set.columns.get(position=1).pk}"),
        ("search", "?q=imul -add"),
        ("columns", "?tab=columns"),
        ("accuracy", "?tab=accuracy"),
    ):
        yield page_result(client, case, f"/block-sets/{block_set.pk}/{query}", _REQUESTS, {"blocks": rows})


def generated_csv(rows: int) -> bytes:
    """A file with blocks of one to twelve instructions and three columns that scatter around each other."""
    dice = random.Random(1)
    domain = BlockDomain.of()
    free = [domain.unconstrained(length) for length in range(1, _MAX_LENGTH + 1)]
    samples = (domain.sample(dice.choice(free), dice) for _ in range(_POOL))
    pool = [block.code.hex() for block in samples if block is not None]
    out = io.StringIO()
    out.write("bb,measured,first tool,second tool\n")
    for _ in range(rows):
        cycles = dice.randint(25, 3000) / 100
        first = round(cycles * dice.uniform(0.6, 1.6), 2)
        second = -1.0 if dice.random() < 0.01 else round(cycles * 1.1, 2)
        out.write(f"{dice.choice(pool)}{dice.choice(pool)},{cycles},{first},{second}\n")
    return out.getvalue().encode()


def _timed(case: str, cost: Cost[Run], more: Mapping[str, object]) -> Result:
    return Result(case, round(cost.wall, 2), "s", more={**more, "cpu_seconds": round(cost.cpu, 2)})


def _lines(isa: ISA, rows: int) -> list[tuple[str, float]]:
    """Mixes of one to six of 2,000 schemes, each up to three times, with some number of cycles."""
    dice = random.Random(1)
    texts = list(isa.schemes.order_by("id").values_list("text", flat=True))
    schemes = dice.sample(texts, min(SCHEMES, len(texts)))
    found = []
    for _ in range(rows):
        mix = dice.sample(schemes, dice.randint(1, 6))
        found.append(("; ".join(f"{dice.randint(1, 3)}*{text}" for text in mix), dice.randint(25, 900) / 100))
    return found


def _file(lines: list[tuple[str, float]], seed: int) -> bytes:
    dice = random.Random(seed)
    rows = (f'"{text}",{cycles * dice.gauss(1, 0.02):.3f},cycles,' for text, cycles in lines)
    return ("experiment,cycles,unit,note\n" + "\n".join(rows) + "\n").encode()


def _imported(isa: ISA, lines: list[tuple[str, float]]) -> Iterator[Result]:
    """CPU seconds and memory of a file's preview and import."""
    content = _file(lines, seed=1)
    before = peak_mebibytes()
    upload = Upload.objects.create(file_name="generated.csv", beginning=content, sha256="0" * 64)
    named = {"upload": upload.pk, "isa": isa.name}
    preview = cost_of(lambda: done("read", named))
    stored = cost_of(lambda: done("import", {**named, "name": "generated"}))
    if stored.value.result["rows"] != len(lines):
        raise RuntimeError(f"{stored.value.result['rows']} of {len(lines)} rows were imported")
    more = {"rows": len(lines), "bytes": len(content)}
    yield _timed("preview", preview, more)
    yield _timed("import", stored, more)
    together = Cost(preview.wall + stored.wall, preview.cpu + stored.cpu, stored.value)
    yield _timed("preview-and-import", together, {**more, "limit": TOGETHER})
    yield Result("memory", round(peak_mebibytes() - before, 1), "MB", more=more)


def _import(name: str, content: bytes) -> None:
    upload = Upload.objects.create(file_name=f"{name}.csv", beginning=content, sha256=name.rjust(64, "0"))
    done("import", {"upload": upload.pk, "name": name, "isa": "x86-64"})
