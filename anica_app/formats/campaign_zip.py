"""A campaign of this program as a zip archive that another installation reads: see docs/formats.md.

    campaign.json               the campaign and its tools
    discoveries.json            all discoveries
    families.json               all families, with the numbers of their discoveries (since version 2)
    generalisations/00000.json  one generalisation each, with every decision and its blocks
    batches/00000.json          samples that belong to no decision, such as those of a round
    files/…                     files of an imported campaign, unchanged

Exporting the same campaign gives the same bytes, and so does exporting what was imported from them under the
same name, where its predictors were known; of others, kind and options are not taken over. Samples are
written in words (`sample_document`), which takes several times the space of the rows.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Literal

from pydantic import ValidationInfo, model_validator

from anica_app.formats import anica_alone, anica_campaigns
from anica_app.formats.anica_documents import CONFIG, DATABASE, DISCOVERY, WITNESS, is_published
from anica_app.formats.campaign_values import (
    BatchValue,
    CampaignValue,
    DiscoveryValue,
    FamilyValue,
    FileValue,
    GeneralisationValue,
    PredictorValue,
    SpooledCampaign,
)
from anica_app.formats.value_documents import ArchivedRow, CampaignContext, Spool, document_of, read_json
from inference.core.protocols import Json
from inference.formats.archived_parts import clean_texts, read_shape
from inference.formats.file_trees import Directory, FileTree, Subtree, ZipTree, write_zip
from inference.formats.other_formats import BEGINNING
from inference.formats.problems import ExchangeError
from inference.formats.quoting import json_text
from inference.isa.targets import code_target, target_of

WITHOUT_FAMILIES = 1
"""The version without families."""

TITLE = "campaign (zip)"
MAIN, ALL_DISCOVERIES, ALL_FAMILIES = "campaign.json", "discoveries.json", "families.json"
GENERALISATIONS, BATCHES, FILES = "generalisations/", "batches/", "files/"

OnProgress = Callable[[int, int], None]
"""Called with (files done, all files); raises in order to stop."""

_ZIP = b"PK\x03\x04"
_MARKER_FILES = (CONFIG, DISCOVERY, WITNESS, MAIN)
_EXPECTED = (
    f"campaign.json and discoveries.json of a campaign's archive, {CONFIG} of a campaign of AnICA, or "
    f"{DISCOVERY} and {WITNESS} of a generalisation are expected, in it or in directories of it"
)
_NAMES_LISTED = 3  # files of an archive that an error names
MAX_PARTS = 200
"""Campaigns and generalisations that an archive may have."""


@dataclass(kw_only=True)
class CampaignDocument(ArchivedRow):
    """`campaign.json`. `isa`: the instruction set, "" where none is loaded."""

    format: Literal["pmweb-campaign"] = "pmweb-campaign"
    version: Literal[1, 2] = 2
    campaign: CampaignValue
    isa: str
    predictors: list[PredictorValue]

    @model_validator(mode="before")
    @classmethod
    def _prepare(cls, document: Any, info: ValidationInfo) -> Any:
        """Count the tools, by which answers are checked; what version 1 calls families are none."""
        match document:
            case {"predictors": list(predictors)}:
                CampaignContext.of(info).tools = len(predictors)
            case _:
                raise ValueError("an object with a list of predictors is expected")
        match document:
            case {"isa": str(isa)}:
                CampaignContext.of(info).isa = code_target(isa).name
        match document:
            case {"version": 1, "campaign": {"facts": dict(facts)}}:
                facts.pop("families", None)
        return document


@dataclass(frozen=True)
class CampaignContent:
    """A campaign to be written. Its parts are in the order of their numbers, and iterated once.

    Attributes:
        parts: Number of generalisations, batches and files.
        code_isa: Instruction set of its blocks.
    """

    document: CampaignDocument
    code_isa: str
    discoveries: Iterable[DiscoveryValue]
    families: Iterable[FamilyValue]
    generalisations: Iterable[GeneralisationValue]
    batches: Iterable[BatchValue]
    files: Iterable[FileValue]
    parts: int


def write_archive(content: CampaignContent, file: BinaryIO, on_progress: OnProgress | None = None) -> None:
    """Write a campaign's archive, part by part. `on_progress`: called after each file."""

    def counted() -> Iterator[tuple[str, list[bytes]]]:
        for count, (path, member) in enumerate(_members(content), start=1):
            yield path, [member]
            if on_progress is not None:
                on_progress(count, 3 + content.parts)

    write_zip(file, counted())


def _members(content: CampaignContent) -> Iterator[tuple[str, bytes]]:
    """(path, content) of each file in the archive; large parts are made when their turn comes."""

    def document(row: ArchivedRow) -> Json:
        return document_of(row, content.code_isa)

    yield MAIN, _json(document(content.document))
    yield ALL_DISCOVERIES, _json(list(map(document, content.discoveries)))
    yield ALL_FAMILIES, _json(list(map(document, content.families)))
    for generalisation in content.generalisations:
        yield f"{GENERALISATIONS}{generalisation.number:05}.json", _json(document(generalisation))
    for batch in content.batches:
        yield f"{BATCHES}{batch.number:05}.json", _json(document(batch))
    for member in content.files:
        yield FILES + member.path, zlib.decompress(bytes(member.content))


def _json(value: Any) -> bytes:
    text = json_text(clean_texts(value), allow_nan=False, separators=(",", ":"))
    return text.encode() + b"\n"


def is_campaign_archive(names: Iterable[str]) -> bool:
    return {MAIN, ALL_DISCOVERIES} <= set(names)


def read_archive(tree: FileTree, on_progress: OnProgress | None = None) -> SpooledCampaign:
    """Read an archive. Raises `ExchangeError` with the invalid file and the place in it."""
    names = tree.names()
    spool = Spool()
    context = CampaignContext(spool)

    def read(shape: Any, path: str) -> Any:
        if path not in names:
            raise ExchangeError(f"{tree.name} has no {path}: it belongs to the archive of a campaign")
        return read_shape(shape, read_json(tree, path), path, context=context)

    main: CampaignDocument = read(CampaignDocument, MAIN)
    isa = main.isa if target_of(main.isa).blocks is not None else ""
    rows = SpooledCampaign(main.campaign, isa, main.predictors, spool=spool)
    rows.discoveries = read(list[DiscoveryValue], ALL_DISCOVERIES)
    read_already = {MAIN, ALL_DISCOVERIES}
    if main.version != WITHOUT_FAMILIES:
        rows.families = read(list[FamilyValue], ALL_FAMILIES)
        read_already.add(ALL_FAMILIES)
    remaining = [path for path in names if path not in read_already]
    for count, path in enumerate(remaining, start=1):
        if path.startswith(GENERALISATIONS):
            rows.generalisations.append(read(GeneralisationValue, path))
        elif path.startswith(BATCHES):
            rows.batches.append(read(BatchValue, path))
        elif path.startswith(FILES):
            content = tree.read(path)
            packed = spool.keep(zlib.compress(content))
            rows.files.append(FileValue(path[len(FILES) :], len(content), packed))
        else:
            raise ExchangeError(f"{path}: no file of this name belongs into the archive of a campaign")
        if on_progress is not None:
            on_progress(count, len(remaining))
    _check_numbers(rows)
    return rows


def _check_numbers(rows: SpooledCampaign) -> None:
    """Raise `ExchangeError` for a repeated number, and for a reference to a missing discovery."""
    distinct_numbers = _distinct([row.number for row in rows.discoveries], ALL_DISCOVERIES)
    _distinct([row.number for row in rows.families], ALL_FAMILIES)
    _distinct([row.number for row in rows.generalisations], GENERALISATIONS)
    _distinct([row.number for row in rows.batches], BATCHES)
    members = [number for row in rows.families for number in row.discoveries]
    _distinct(members, f"{ALL_FAMILIES}, discoveries", "is in a family already")
    for where, numbers in (
        (ALL_DISCOVERIES, [row.subsumed_by for row in rows.discoveries]),
        (f"{ALL_FAMILIES}, discoveries", members),
        (GENERALISATIONS, [row.discovery for row in rows.generalisations]),
        (BATCHES, [row.discovery for row in rows.batches]),
    ):
        if strange := set(numbers) - distinct_numbers - {None}:
            raise ExchangeError(f"{where}: there is no discovery with the number {strange.pop()}")
    if rows.families and "families" not in rows.campaign.facts:
        raise ExchangeError(f"{MAIN}, campaign.facts: families is missing, though {ALL_FAMILIES} has some")


def _distinct(numbers: Sequence[int], where: str, complaint: str = "occurs twice") -> set[int]:
    if len(distinct := set(numbers)) < len(numbers):
        ((number, _),) = Counter(numbers).most_common(1)
        raise ExchangeError(f"{where}: the number {number} {complaint}")
    return distinct


class CampaignFileKind(StrEnum):
    PUBLISHED = anica_campaigns.TITLE
    ARCHIVE = TITLE
    DOCUMENT = anica_alone.TITLE


def kind_of_path(path: Path) -> CampaignFileKind | None:
    """The format of a file or a directory, None for any other."""
    if path.is_dir():
        below = [path, *(directory for directory in path.iterdir() if directory.is_dir())]
        marked = any((directory / name).is_file() for directory in below for name in _MARKER_FILES)
        return CampaignFileKind.PUBLISHED if marked else None
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return kind_of_file(file)


def kind_of_file(file: BinaryIO) -> CampaignFileKind | None:
    """The format of an open file, None for any other; leaves it at its beginning."""
    beginning = file.read(BEGINNING)
    file.seek(0)
    if not beginning.startswith(_ZIP):
        return CampaignFileKind.DOCUMENT if anica_alone.is_document(beginning) else None
    try:
        parts = parts_of(ZipTree(file, "archive"))
    except ExchangeError:
        # Counts as ours, so that reading it reports what is wrong.
        return CampaignFileKind.ARCHIVE if zipfile.is_zipfile(file) else None
    finally:
        file.seek(0)
    if not parts:
        return None
    ours = all(is_campaign_archive(part.names()) for part in parts)
    return CampaignFileKind.ARCHIVE if ours else CampaignFileKind.PUBLISHED


def parts_of(tree: FileTree) -> list[FileTree]:
    """The campaigns and generalisations of a tree: itself, or its directories, by name.

    Incomplete ones are included; reading them reports what is missing.
    """
    names = tree.names()
    tops = {str(PurePosixPath(name).parent) for name in names if PurePosixPath(name).name in _MARKER_FILES}
    if "." in tops:
        return [tree]
    inner = sorted(top for top in tops if not any(top.startswith(f"{other}/") for other in tops))
    return [Subtree(tree, top) for top in inner]


def kind_of_content(content: bytes) -> CampaignFileKind | None:
    """The format of an uploaded file, None for any other."""
    return kind_of_file(io.BytesIO(content))


def read_all(tree: FileTree, on_progress: OnProgress | None = None) -> list[SpooledCampaign]:
    """Read all campaigns and generalisations of a tree, each named after its directory.

    Raises `ExchangeError` with the problems of all of them.
    """
    parts = parts_of(tree)
    if not parts:
        raise ExchangeError(f"{tree.name} has {_describe_files(tree.names())}; {_EXPECTED}")
    if len(parts) > MAX_PARTS:
        raise ExchangeError(
            f"{tree.name} has {len(parts)} campaigns and generalisations, of {MAX_PARTS} at most"
        )
    rows, problems = [], []
    for part in parts:
        try:
            rows.append(read_part(part, on_progress))
        except ExchangeError as error:
            problems.append(str(error) if part is tree else f"{part.name}: {error}")
    if problems:
        summary = f"{len(problems)} of {len(parts)} cannot be read, so none was imported"
        raise ExchangeError("\n".join([*([summary] if len(parts) > 1 else []), *problems]))
    return rows


def read_content(
    content: bytes, file_name: str, on_progress: OnProgress | None = None
) -> list[SpooledCampaign]:
    """Read an uploaded file in any of the formats. Raises `ExchangeError`."""
    if content.startswith(_ZIP):
        return read_all(ZipTree(io.BytesIO(content), file_name), on_progress)
    return anica_alone.read_documents(content, file_name)


def read_part(tree: FileTree, on_progress: OnProgress | None = None) -> SpooledCampaign:
    """Read a campaign in either format. Raises `ExchangeError`."""
    check_part(tree)
    if is_campaign_archive(tree.names()):
        return read_archive(tree, on_progress)
    return anica_campaigns.read_campaign(tree, on_progress)


def check_part(tree: FileTree) -> None:
    """Raise `ExchangeError` where the files of a campaign or a generalisation are missing."""
    names = tree.names()
    if is_campaign_archive(names) or is_published(names):
        return
    lacking = [name for name in (DISCOVERY, WITNESS) if name not in names]
    if len(lacking) == 1:
        there = DISCOVERY if lacking == [WITNESS] else WITNESS
        raise ExchangeError(
            f"{tree.name} has {there} and no {lacking[0]}: a generalisation of AnICA has both, and {DATABASE}"
        )
    raise ExchangeError(f"{tree.name} has {_describe_files(names)}; {_EXPECTED}")


def _describe_files(names: Sequence[str]) -> str:
    """Number and first names of files, for a message."""
    listed = ", ".join(names[:_NAMES_LISTED])
    return (
        f"{len(names)} files ({listed}{', …' if len(names) > _NAMES_LISTED else ''})" if names else "no file"
    )


def tree_of_path(path: Path) -> FileTree:
    """A directory, or the archive in a file, read into memory. Raises `ExchangeError`."""
    return Directory(path) if path.is_dir() else ZipTree(io.BytesIO(path.read_bytes()), path.name)


def read_path(path: Path) -> list[SpooledCampaign]:
    """Read a directory or a file, which is in memory meanwhile. Raises `ExchangeError`."""
    return read_all(tree_of_path(path)) if path.is_dir() else read_content(path.read_bytes(), path.name)
