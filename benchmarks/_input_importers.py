"""Every reader of files and messages: what it is given, what it may raise, what must hold of its values."""

from __future__ import annotations

import io
import json
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from anica_app.formats.campaign_zip import kind_of_content, read_content, read_part
from inference.agent import protocol
from inference.agent.reading import ProtocolError
from inference.formats.accuracy_baseline import read_baseline
from inference.formats.block_files import (
    LoopFilter,
    block_file_of,
    find_listed_loops,
    find_loops,
)
from inference.formats.block_sets import BlockSetOptions, summarise
from inference.formats.blocks_csv import BrokenRows
from inference.formats.core_model_json import read_core_model
from inference.formats.file_trees import ZipTree
from inference.formats.import_formats import bytes_to_store, name_list_of, read, rejects_of
from inference.formats.parsing import AnyNames, resolve
from inference.formats.problems import ExchangeError
from inference.formats.rejects_json import rejection_of
from inference.formats.run_archive_reading import is_archive, read_archive
from inference.isa.document import InstructionSetError, read_instruction_set
from pmweb.backup import archive
from pmweb.backup.archive import BackupError
from tests.hostile import sound_files as seeds


class UnsoundError(Exception):
    """A reader has accepted what nothing can store, or contradicts itself."""


@dataclass(frozen=True)
class Importer:
    """A reader of files: what it raises but `refusal` is a defect.

    `value` gives what is read, of which all texts are looked at, and None for a file that has problems.
    """

    name: str
    sound: Callable[[], Sequence[bytes]]
    value: Callable[[bytes], object]
    refusal: type[Exception] = ExchangeError

    def read(self, content: bytes) -> bool:
        """Whether the content is accepted. Raises `UnsoundError`."""
        try:
            value = self.value(content)
        except self.refusal as error:
            _check_words(str(error))
            return False
        for text in _all_texts(value):
            _check_text(text)
        return value is not None


def _golden(*names: str, more: Sequence[bytes] = ()) -> Callable[[], Sequence[bytes]]:
    return lambda: [*(seeds.golden(name) for name in names), *more]


def upload_value(content: bytes, wanted: str = "") -> object:
    """Of an upload without an instruction set: kept, then parsed; of several parts the one that is wanted."""
    parsed = resolve(read(bytes_to_store(io.BytesIO(content), "upload"), "upload", part=wanted), AnyNames())
    _check_lines(parsed.lines())
    if parsed.problem_count:
        if parsed.measured or parsed.mapping is not None or parsed.resources is not None:
            raise UnsoundError("values of a file with problems")
        return None
    for result in parsed.measured:
        if not (result.cycles and math.isfinite(result.cycles) and result.cycles > 0):
            raise UnsoundError(f"{result.cycles} cycles")
    json.dumps(dict(parsed.facts), allow_nan=False)
    return [
        (parsed.facts, parsed.left_out, list(parsed.schemes), parsed.features),
        [(result.note, dict(result.annotations)) for result in parsed.measured],
        list(parsed.mapping.ports) if parsed.mapping is not None else (),
        list(parsed.resources.resources) if parsed.resources is not None else (),
    ]


_table_value = partial(upload_value, wanted="SKL")
_latencies_value = partial(upload_value, wanted="latencies")


def _core_value(content: bytes) -> object:
    return read_core_model(content).model_dump()


def _baseline_value(content: bytes) -> object:
    return read_baseline(content, "baseline.json").model_dump()


def _rejects_value(content: bytes) -> object:
    reasons = rejects_of(content, "rejects.json")
    return [(name, rejection_of(name, why, {}).text) for name, why in reasons.items()]


def _run_value(content: bytes) -> object:
    is_archive(content)
    run = read_archive(content)
    events = [event.model_dump(mode="json") for event in run.events]
    notes = [row.note for part in run.sets for row in part.measured]
    return [run.manifest.model_dump(mode="json"), events, notes]


def _tree_value(content: bytes) -> object:
    kind_of_content(content)
    part = read_part(ZipTree(io.BytesIO(content), "x.zip"))
    return [vars(row) for row in (part.campaign, *part.predictors, *part.discoveries, *part.families)]


def _loops_value(program: bytes, samples: tuple[bytes, str] | None = None) -> object:
    _check_lines(find_loops(program, "work", LoopFilter(), samples).lines())
    return ()


def _samples_value(content: bytes) -> object:
    """Of a program with a function of the name that the sound ones have."""
    return _loops_value(seeds.programs()[0], (content, "perf.txt"))


def _listing_value(content: bytes) -> object:
    block_file_of(content)
    if not content.strip():
        return None
    _check_lines(find_listed_loops(content, "listing.txt", LoopFilter(), excerpts=9).lines())
    return ()


def _document_value(content: bytes) -> object:
    """A single document of AnICA."""
    kind_of_content(content)
    return [vars(part.campaign) for part in read_content(content, "x.json")]


def _blocks_value(content: bytes) -> object:
    """Summarise a file of blocks under each treatment of broken rows: the texts of its first ones."""
    block_file_of(content)
    texts = None
    for broken in BrokenRows:
        try:
            summary = summarise(io.BytesIO(content), "blocks.csv", BlockSetOptions(broken))
        except ExchangeError as error:
            _check_words(str(error))
            continue
        _check_lines(summary.lines())
        json.dumps(summary.report(), allow_nan=False)
        if summary.acceptable:
            texts = [row.text for row in summary.first]
    return texts


def _backup_value(content: bytes) -> object:
    """Read and unpack a backup: its migrations."""
    with tempfile.TemporaryDirectory(prefix="pmweb-hostile-") as folder:
        path = Path(folder) / "x.pmweb-backup"
        path.write_bytes(content)

        manifest = archive.read_manifest(path)
        archive.unpack(path, manifest, Path(folder) / "dump")
        archive.check_rows(manifest.rows, {"a": 1})
        return manifest.migrations


def _message_value(content: bytes) -> object:
    """Read a message between agent and site: nothing of it is kept."""
    try:
        message = protocol.decode(content.decode())
    except UnicodeDecodeError:
        return None
    match message.pop("type"):
        case "batch":
            protocol.Batch.read(message.get("content"))
        case "results":
            results = message.get("results")
            for result in results if isinstance(results, list) else ():
                protocol.Result.read(result)
        case _:
            protocol.Beat.read(message)
    return ()


def _check_lines(lines: Sequence[str]) -> None:
    for line in lines:
        _check_words(line)


def _check_words(text: str) -> None:
    """A message can be shown, logged and stored: it is text, and not without end."""
    if not text.strip() or len(text) > 200_000:
        raise UnsoundError(f"a message of {len(text)} characters")
    _check_text(text)


def _check_text(text: str) -> None:
    if "\0" in text:
        raise UnsoundError(f"a NUL in {ascii(text)[:80]}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UnsoundError(f"half of a character in {ascii(text)[:80]}") from None


def _all_texts(value: object) -> Iterator[str]:
    """All strings within a JSON value, keys included; without recursion, since it may be nested deeply."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            waiting += [*part, *part.values()]
        elif isinstance(part, (list, tuple)):
            waiting += part


IMPORTERS = (
    Importer("experiments-csv", _golden("experiment-csv.csv", more=seeds.TABLES), upload_value),
    Importer("pmevo-experiments", _golden("pmevo-experiments.json"), upload_value),
    Importer("pmevo-mapping", _golden("pmevo-mapping.json"), upload_value),
    Importer("port-mapping", _golden("mapping-json.json"), upload_value),
    Importer("resource-mapping", _golden("resource-json.json"), upload_value),
    Importer("explained-mapping", _golden("explained-mapping.json"), upload_value),
    Importer("rejects", _golden("explained-rejects.json"), _rejects_value),
    Importer("uops-info-xml", lambda: [seeds.uops_info_xml()], _table_value),
    Importer(
        "uops-info-digest", lambda: [bytes_to_store(io.BytesIO(seeds.uops_info_xml()), "x")], _table_value
    ),
    Importer("uops-info-json", _golden("uops-info.json"), _table_value),
    Importer("palmed", _golden("palmed-mapping.json"), upload_value),
    Importer("palmed-names", _golden("palmed-names.json"), partial(name_list_of, file_name="names.json")),
    Importer("osaca", _golden("osaca.yml"), upload_value),
    Importer("winic", _golden("winic.yaml"), upload_value),
    Importer("instlat", _golden("instlat.txt"), upload_value),
    Importer("insn-bench", _golden("insn-bench.md"), upload_value),
    Importer("instlat-latencies", _golden("instlat.txt"), _latencies_value),
    Importer("rvv-bench", _golden("rvv-bench.html"), upload_value),
    Importer("agner", _golden("agner.csv"), upload_value),
    Importer("exegesis", _golden("exegesis-latency.yaml", "exegesis-throughput.yaml"), upload_value),
    Importer("core-model", _golden("core-model.json"), _core_value),
    Importer("baseline", _golden("accuracy-baseline.json"), _baseline_value),
    Importer("instruction-set", _golden("instruction-set.json"), read_instruction_set, InstructionSetError),
    Importer("run-archive", lambda: [seeds.run_archive()], _run_value),
    Importer("campaign-archive", lambda: [seeds.campaign_archive()], _tree_value),
    Importer("anica-directory", seeds.anica_directories, _tree_value),
    Importer("block-set", lambda: seeds.BLOCKS, _blocks_value),
    Importer("listing", lambda: seeds.LISTINGS, _listing_value),
    Importer("anica-document", seeds.anica_documents, _document_value),
    Importer("program", seeds.programs, _loops_value),
    Importer("samples", lambda: seeds.SAMPLES, _samples_value),
    Importer("back-up", lambda: [seeds.backup()], _backup_value, BackupError),
    Importer("agent-message", seeds.agent_messages, _message_value, ProtocolError),
)
