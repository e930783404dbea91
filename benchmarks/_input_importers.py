"""Every reader of files and messages: what it is given, what it may raise, what must hold of its values."""

from __future__ import annotations

import io
import json
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import _input_seeds as seeds
from inference.agent import protocol
from inference.agent.reading import ProtocolError
from inference.formats.errors import ExchangeError
from inference.formats.parsing import AnyNames, read, resolve
from inference.formats.rejects_json import rejection_of
from inference.formats.run_archive.reading import is_archive, read_archive
from inference.formats.side_files import name_list_of, rejects_of
from inference.formats.uops_info_xml import taken_in
from inference.isa.document import InstructionSetError, read_instruction_set


class UnsoundError(Exception):
    """A reader has accepted what nothing can store, or contradicts itself."""


@dataclass(frozen=True)
class Importer:
    """`read` gives whether the content is accepted; what it raises is a defect."""

    name: str
    sound: Callable[[], Sequence[bytes]]
    read: Callable[[bytes], bool]


def _of_golden(*names: str, more: Sequence[bytes] = ()) -> Callable[[], Sequence[bytes]]:
    return lambda: [*(seeds.golden(name) for name in names), *more]


def read_upload(content: bytes, wanted: str = "") -> bool:
    """As an upload without an instruction set: kept, then parsed; of several parts the one that is wanted."""
    try:
        kept = taken_in(io.BytesIO(content), "upload")
    except ExchangeError as error:
        _check_words(str(error))
        return False
    parsed = resolve(read(kept, "upload", wanted=wanted), AnyNames())
    for line in parsed.lines():
        _check_words(line)
    if parsed.problem_count:
        if parsed.measured or parsed.mapping is not None or parsed.resources is not None:
            raise UnsoundError("values of a file with problems")
        return False
    for result in parsed.measured:
        if not (result.cycles and math.isfinite(result.cycles) and result.cycles > 0):
            raise UnsoundError(f"{result.cycles} cycles")
    told = (parsed.facts, parsed.left_out, list(parsed.schemes), parsed.features, *_texts_of(parsed))
    for text in _all_texts(told):
        _check_text(text)
    json.dumps(dict(parsed.facts), allow_nan=False)
    return True


def _read_table(content: bytes) -> bool:
    return read_upload(content, "SKL")


def _texts_of(parsed: Any) -> Iterator[object]:
    yield [(result.note, dict(result.annotations)) for result in parsed.measured]
    yield list(parsed.mapping.ports) if parsed.mapping is not None else ()
    yield list(parsed.resources.resources) if parsed.resources is not None else ()


def _read_names(content: bytes) -> bool:
    return _is_read(lambda: name_list_of(content, "names.json"), ExchangeError)


def _read_rejects(content: bytes) -> bool:
    def understood() -> object:
        found = rejects_of(content, "rejects.json")
        return [(name, rejection_of(name, why, {}).text) for name, why in found.items()]

    return _is_read(understood, ExchangeError)


def _read_core_model(content: bytes) -> bool:
    from inference.formats.core_model_json import read_core_model

    return _is_read(lambda: read_core_model(content).model_dump(), ExchangeError)


def _read_baseline(content: bytes) -> bool:
    from inference.formats.accuracy_baseline import read_baseline

    return _is_read(lambda: read_baseline(content, "baseline.json").model_dump(), ExchangeError)


def _read_isa(content: bytes) -> bool:
    return _is_read(lambda: read_instruction_set(content), InstructionSetError)


def _read_run(content: bytes) -> bool:
    is_archive(content)

    def texts() -> object:
        found = read_archive(content)
        told = [event.model_dump(mode="json") for event in found.events]
        return [
            found.manifest.model_dump(mode="json"),
            told,
            [row.note for each in found.sets for row in each.measured],
        ]

    return _is_read(texts, ExchangeError)


def _read_tree(content: bytes) -> bool:
    from anica_app.formats.incoming import read_part, sort_of_content
    from inference.formats.file_trees import ZipTree

    sort_of_content(content)

    def texts() -> object:
        found = read_part(ZipTree(io.BytesIO(content), "x.zip"))
        return [vars(row) for row in (found.campaign, *found.predictors, *found.discoveries, *found.families)]

    return _is_read(texts, ExchangeError)


def _read_program(content: bytes) -> bool:
    return _has_loops(content, None)


def _read_samples(content: bytes) -> bool:
    """Of a program with a function of the name that the sound ones have."""
    return _has_loops(seeds.programs()[0], (content, "perf.txt"))


def _has_loops(program: bytes, samples: tuple[bytes, str] | None) -> bool:
    from inference.formats.program_loops import LoopFilter, find_loops

    try:
        found = find_loops(program, "work", LoopFilter(), samples)
    except ExchangeError as error:
        _check_words(str(error))
        return False
    for line in found.lines():
        _check_words(line)
    return True


def _read_blocks(content: bytes) -> bool:
    from inference.formats.block_files import block_file_of
    from inference.formats.block_sets import BlockSetOptions, look
    from inference.formats.blocks_csv import Broken

    block_file_of(content)
    accepted = False
    for broken in Broken:
        try:
            found = look(io.BytesIO(content), "blocks.csv", BlockSetOptions(broken))
        except ExchangeError as error:
            _check_words(str(error))
            continue
        for line in found.lines():
            _check_words(line)
        json.dumps(found.report(), allow_nan=False)
        for row in found.first:
            _check_text(row.text)
        accepted = accepted or found.acceptable
    return accepted


def _read_backup(content: bytes) -> bool:
    from pmweb.backup import archive
    from pmweb.backup.archive import BackupError

    with tempfile.TemporaryDirectory(prefix="pmweb-hostile-") as folder:
        path = Path(folder) / "x.pmweb-backup"
        path.write_bytes(content)

        def unpacked() -> object:
            manifest = archive.read_manifest(path)
            archive.unpack(path, manifest, Path(folder) / "dump")
            archive.check_rows(manifest.rows, {"a": 1}, manifest.rows)
            return manifest.migrations

        return _is_read(unpacked, BackupError)


def _read_message(content: bytes) -> bool:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return False

    def understood() -> object:
        message = protocol.decode(text)
        kind = message["type"]
        if kind == "batch":
            return protocol.Batch.read(message.get("content"))
        if kind == "results":
            given = message.get("results")
            return [protocol.Result.read(each) for each in given] if isinstance(given, list) else None
        return protocol.Beat.read({key: value for key, value in message.items() if key != "type"})

    return _is_read(understood, ProtocolError)


def _is_read(read: Callable[[], object], refused: type[Exception]) -> bool:
    try:
        value = read()
    except refused as error:
        _check_words(str(error))
        return False
    for text in _all_texts(value if isinstance(value, (dict, list, tuple)) else ()):
        _check_text(text)
    return True


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
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, (list, tuple)):
            waiting += one


IMPORTERS = (
    Importer("experiments-csv", _of_golden("experiment-csv.csv", more=seeds.TABLES), read_upload),
    Importer("pmevo-experiments", _of_golden("pmevo-experiments.json"), read_upload),
    Importer("pmevo-mapping", _of_golden("pmevo-mapping.json"), read_upload),
    Importer("port-mapping", _of_golden("mapping-json.json"), read_upload),
    Importer("resource-mapping", _of_golden("resource-json.json"), read_upload),
    Importer("explained-mapping", _of_golden("explained-mapping.json"), read_upload),
    Importer("rejects", _of_golden("explained-rejects.json"), _read_rejects),
    Importer("uops-info-xml", lambda: [seeds.uops_info_xml()], _read_table),
    Importer("uops-info-digest", lambda: [taken_in(io.BytesIO(seeds.uops_info_xml()), "x")], _read_table),
    Importer("uops-info-json", _of_golden("uops-info.json"), _read_table),
    Importer("palmed", _of_golden("palmed-mapping.json"), read_upload),
    Importer("palmed-names", _of_golden("palmed-names.json"), _read_names),
    Importer("osaca", _of_golden("osaca.yml"), read_upload),
    Importer("winic", _of_golden("winic.yaml"), read_upload),
    Importer("exegesis", _of_golden("exegesis-latency.yaml", "exegesis-throughput.yaml"), read_upload),
    Importer("core-model", lambda: [seeds.core_model()], _read_core_model),
    Importer("baseline", lambda: [seeds.baseline()], _read_baseline),
    Importer("instruction-set", _of_golden("instruction-set.json"), _read_isa),
    Importer("run-archive", lambda: [seeds.run_archive()], _read_run),
    Importer("campaign-archive", lambda: [seeds.campaign_archive()], _read_tree),
    Importer("anica-directory", seeds.anica_directories, _read_tree),
    Importer("block-set", lambda: seeds.BLOCKS, _read_blocks),
    Importer("program", seeds.programs, _read_program),
    Importer("samples", lambda: seeds.SAMPLES, _read_samples),
    Importer("back-up", lambda: [seeds.backup()], _read_backup),
    Importer("agent-message", seeds.agent_messages, _read_message),
)
