"""Small sound files of every format that is read, from which hostile ones are made."""

from __future__ import annotations

import hashlib
import io
import json
import re
import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from inference.agent import protocol
from tests.zips import packed, unpacked

GOLDEN = Path(__file__).parent.parent / "formats" / "golden"

BLOCKS = (
    b"bb,llvm-mca 13,osaca\n4801d8,1.03,-1.0\n480fafc3,,3.0\n",
    b'4801d8,126.00\n"add rax, rbx\nimul rax, rcx",226.00\n',
    b'bb,weight,tool\n"add rax, qword ptr [rbx + 8*rcx]; nop",12,0.5\n',
    b'nanoBench.sh -asm "ADD RAX, RBX; NOP" -config a.txt\nCORE_CYCLES: 1.00\n',
    b"          Benchmark    Cycles     Nanos\nDependent add chain      1.00      0.40\n",
    b"# proto-file: gematria/proto/throughput.proto\n"
    b'basic_blocks { basic_block { machine_instructions { machine_code: "H\\001\\330" } }'
    b' inverse_throughputs { source: "a" inverse_throughput_cycles: [1, 2] } }\n',
    b'{"CodeRegions": [{"Name": "a", "Instructions": ["addq\\t%rbx, %rax"], "SummaryView": {"Iterations":'
    b' 100, "TotalCycles": 103, "Instructions": 100}}], "TargetInfo": {"CPUName": "znver3"}}\n',
)
LISTINGS = (
    b"  401126:\t48 01 d8\tadd    %rbx,%rax\n  401129:\tff c9\tdec    %ecx\n"
    b"  40112b:\t75 f9\tjne    401126\n",
    b" 12.50 \xe2\x94\x82 6:   add %rbx,%rax\n 87.50 \xe2\x94\x82     jne 6\n",
    b"|   .-> 0x00401126  4801d8  add rax, rbx\n|   `=< 0x00401129  75fb  jne 0x401126\n",
    b"a 1234 [0] 1.5: 401126 f+0x0 (/a) insn: 48 01 d8\na 1234 [0] 1.5: 401129 f+0x3 (/a) insn: 75 fb\n",
    b"   9 00000002 4801D8   <1>  add rax, rbx\n  10 00000005 75FB          jnz l\n",
    b"0:000> u\n3 00007ff7`3b8b1000 4801d8 add rax,rbx\n3 00007ff7`3b8b1003 75fb jne a (00007ff7`3b8b1000)\n",
    b"  0x00007f66b10f2ae0: f30f 100c | 87f3 0f59\n  0x00007f66b10f2ae8: 0c86 75f4\n",
    b".L3:\n mov     eax, dword, ptr, [rdi, +, 4*rax]\n while n {\n add rax, rbx\n jne .L3\n",
)
TABLES = (
    b"experiment\tcpi\tnote\nadd R, R\t0.5\todd\n2*mul R, R\t1\t\n",
    b'# made by: somebody\nexperiment,cycles,unit,tool:llvm-mca\n"add R, R; nop",1.5,ipc,2\n',
)


def golden(name: str) -> bytes:
    """One of the golden files of the tests."""
    return (GOLDEN / name).read_bytes()


def uops_info_xml() -> bytes:
    """The first instruction of the golden file alone: as much structure in a tenth of the bytes."""
    content = golden("uops-info-xml.xml")
    found = re.search(rb"<instruction .*?</instruction>", content, re.DOTALL)
    assert found is not None
    registers = re.sub(rb"YMM0,[YM0-9,]+", b"YMM0,YMM1", found[0])
    return b'<?xml version="1.0"?>\n<root><extension name="AVX">\n' + registers + b"\n</extension></root>\n"


def agent_messages() -> list[bytes]:
    """One message of each kind that either side reads."""
    item = protocol.BatchItem("a", b"\x90" * 8, 8, 4, 4, 1, (("a", 1),))
    batch = protocol.Batch(protocol.Frame(registers={"rax": 5}), protocol.Settings(), (item,))
    result = protocol.Result("a", "settled", 1.0, 0.01, 2, counters={"uops": 1.0})
    beat = protocol.Beat("idle", 0.01, 3.0, 5.0, 1, 1, 1, "", {"add": (1.0, 1.0)})
    said: list[tuple[str, dict[str, Any]]] = [
        ("batch", {"batch": 1, "fence": 1, "content": batch.as_json()}),
        ("results", {"batch": 1, "fence": 1, "results": [result.as_json()]}),
        ("beat", beat.as_json()),
    ]
    return [protocol.encode(kind, **content).encode() for kind, content in said]


def backup() -> bytes:
    """A back-up of a database with one table."""
    with tempfile.TemporaryDirectory(prefix="pmweb-hostile-") as folder:
        path = Path(folder) / "database"
        with closing(sqlite3.connect(path)) as database:
            database.executescript("CREATE TABLE a (b INTEGER); INSERT INTO a VALUES (1)")
        dump = path.read_bytes()
    manifest = {
        "database": "sqlite",
        "rows": {"a": 1},
        "migrations": ["inference.0001_initial"],
        "version": "0.7.0",
        "sha256": hashlib.sha256(dump).hexdigest(),
        "created": "2026-11-01T00:00:00+00:00",
        "format": 1,
        "product": "pmweb",
    }
    return packed({"manifest.json": json.dumps(manifest).encode(), "database": dump, "secret-key": b"key"})


def programs() -> list[bytes]:
    from inference.isa.blocks import object_file

    code = bytes.fromhex("4801d8ffc975f9c3")
    return [object_file(code, "work"), object_file(bytes(16) + code * 8, "other")]


SAMPLES = [
    b"   a 13 1.5: PERF_RECORD_MMAP2 13/13: [0x55b349cdf000(0x1000) @ 0x1000 fe:00 2 3]: r-xp /tmp/work\n"
    b"   a 13 1.6:     200000 cycles:u:      55cb66be521c work+0x3 (/tmp/work)\n"
    b"   a 13 1.7:     200000 cycles:u:\n\t            1003 work+0x3 (/tmp/work)\n\n",
    b"     55cb66be5203 work+0x3 (/tmp/work)  0x55cb66be5205/0x55cb66be5200/P/-/-/3\n",
    b" Percent |\tSource code & Disassembly of work for cycles:u (52 samples, percent: local period)\n"
    b"   96.15 :   3:   dec    %ecx\n    3.85 :   5:   jne    0\n",
]
"""What perf prints."""


def anica_directories() -> list[bytes]:
    """A campaign of the published AnICA, and one generalisation alone, as archives."""
    from tests.anica.formats.published import DOCUMENTS, LABEL, write_measurements

    with tempfile.TemporaryDirectory(prefix="pmweb-hostile-") as folder:
        path = Path(folder) / "measurements.db"
        write_measurements(path)
        measurements = path.read_bytes()
    campaign = {name: json.dumps(content).encode() for name, content in DOCUMENTS.items()}
    one = {
        "discovery.json": campaign[f"discoveries/{LABEL}.json"],
        "witness.json": campaign[f"witnesses/{LABEL}.json"],
        "infos.json": campaign["campaign_config.json"],
        "start_bb.s": b"add rax, rbx\n",
    }
    return [packed({**files, "measurements.db": measurements}) for files in (campaign, one)]


def anica_documents() -> list[bytes]:
    """An abstract block of a discovery, and a configuration, without their campaign."""
    from tests.anica.formats.published import DOCUMENTS, LABEL

    names = (f"discoveries/{LABEL}.json", "campaign_config.json")
    return [json.dumps(DOCUMENTS[name]).encode() for name in names]


@cache
def campaign_archive() -> bytes:
    """A campaign of this program. Stores it in the database on the way, the first time."""
    from anica_app.formats.campaign_zip import read_part
    from anica_app.storage.campaigns import store_campaign, write_campaign
    from inference.formats.file_trees import ZipTree

    tree = ZipTree(io.BytesIO(anica_directories()[0]), "campaign.zip")
    out = io.BytesIO()
    write_campaign(store_campaign(read_part(tree), "a campaign"), out)
    return packed(unpacked(out.getvalue()))


@cache
def run_archive() -> bytes:
    """An evaluation with its mapping and its experiments. Stores them on the way, the first time."""
    from inference.core.experiment import Experiment, Measured, Unit
    from inference.core.mapping import PortMapping as Mapping
    from inference.models import ExperimentSet, PortMapping, Run
    from inference.runs.lifecycle import submit
    from inference.storage.evaluations import evaluate
    from inference.storage.instruction_sets import new_isa
    from inference.storage.mappings import store_mapping
    from inference.storage.rows import store_measurements
    from inference.storage.run_archive_writing import write_archive

    isa = new_isa("toy", ["add R, R", "mul R, R"], "by hand")
    value = Mapping(("0", "1"), {"add R, R": ((3, 1),), "mul R, R": ((1, 1),)})
    mapping = store_mapping("toy ports", isa, value, origin=PortMapping.Origin.IMPORT)
    rows = ExperimentSet.objects.create(name="toy set", isa=isa, origin="upload")
    measured = [Measured(Experiment.of({"add R, R": 1, "mul R, R": n}), 1.0 * n) for n in (1, 2)]
    store_measurements(rows, measured)
    run = submit("evaluate", {"mapping": mapping.pk, "experiment_set": rows.pk}, "toy run")
    evaluate(mapping, rows, Unit.CYCLES)
    Run.objects.filter(pk=run.pk).update(state=Run.State.DONE, result={"mapping": mapping.pk})
    run.refresh_from_db()
    return packed(unpacked(write_archive(run)))
