"""A campaign of this program as a zip archive that another installation reads: see docs/formats.md.

    campaign.json               the campaign, its tools, and what stands in the other files
    discoveries.json            all discoveries
    families.json               all families, with the numbers of their discoveries (since version 2)
    generalisations/00000.json  one generalisation each, with every decision and the blocks it rests on
    batches/00000.json          blocks that were judged elsewhere: fresh ones of a round
    files/…                     what came with an imported campaign, as it was

Exporting the same campaign gives the same bytes, and so does exporting what was imported from them under the
same name, where its predictors were known; of others, kind and options are not taken over. Samples are
written in words (`sample_document`), which takes several times the space of the rows.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from anica_app.core.domain import documents
from anica_app.core.domain.features import everything
from anica_app.core.errors import AnicaError
from anica_app.formats.campaign_families import (
    check_families_told,
    facts_to_be_told,
    family_document,
    read_family,
)
from anica_app.formats.campaign_told import check_told
from anica_app.formats.campaign_values import (
    BatchValue,
    CampaignValue,
    DiscoveryValue,
    FamilyValue,
    FileValue,
    GeneralisationValue,
    PredictorValue,
    StepValue,
)
from anica_app.formats.file_trees import FileTree
from anica_app.formats.spooled_campaigns import Bulk, SpooledCampaign
from anica_app.formats.tree_json import read_json
from anica_app.formats.value_documents import document_of, read_value
from inference.core.protocols import Json
from inference.formats.errors import ExchangeError
from inference.formats.foreign_texts import clean_texts
from inference.formats.quoting import json_text
from inference.formats.sample_document import read_samples, sample_document
from inference.isa.targets import target_of
from inference.predictors.samples import pack, unpack

FORMAT, VERSION = "pmweb-campaign", 2
WITHOUT_FAMILIES = 1
"""The version that knew no families."""
TITLE = "campaign (zip)"
MAIN, ALL_DISCOVERIES, ALL_FAMILIES = "campaign.json", "discoveries.json", "families.json"
GENERALISATIONS, BATCHES, FILES = "generalisations/", "batches/", "files/"

Told = Callable[[int, int], None]
"""Hears how many files of how many are written or read; may raise in order to stop."""

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the archive says nothing of when it was written


@dataclass(frozen=True)
class CampaignContent:
    """A campaign to be written, its parts in the order of their numbers: each is looked at once.

    Beside values stand the numbers of what they are about, and samples as `pack` makes them. `parts`: how
    many generalisations, batches and files there are. `isa`: the instruction set, "" where none is loaded;
    `code_isa`: that of its blocks.
    """

    campaign: CampaignValue
    isa: str
    code_isa: str
    predictors: Sequence[PredictorValue]
    discoveries: Iterable[tuple[DiscoveryValue, int | None]]
    families: Iterable[tuple[FamilyValue, Sequence[int]]]
    generalisations: Iterable[tuple[GeneralisationValue, int | None, Iterable[tuple[StepValue, bytes]]]]
    batches: Iterable[tuple[BatchValue, int | None, bytes]]
    files: Iterable[tuple[str, bytes]]
    parts: int


def write_archive(content: CampaignContent, file: BinaryIO, told: Told | None = None) -> None:
    """Write a campaign, one part after another."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for count, (path, member) in enumerate(_members(content), start=1):
            info = zipfile.ZipInfo(path, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, member)
            if told is not None:
                told(count, 3 + content.parts)


def _members(content: CampaignContent) -> Iterable[tuple[str, bytes]]:
    campaign = document_of(content.campaign)
    main = {
        "format": FORMAT,
        "version": VERSION,
        "campaign": {**campaign, "facts": facts_to_be_told(campaign["facts"])},
        "isa": content.isa,
        "predictors": [document_of(predictor) for predictor in content.predictors],
    }
    yield MAIN, _json(main)
    discoveries = [{**document_of(value), "subsumed_by": above} for value, above in content.discoveries]
    yield ALL_DISCOVERIES, _json(discoveries)
    yield ALL_FAMILIES, _json([family_document(family, members) for family, members in content.families])
    for value, about, steps in content.generalisations:
        document = {
            **document_of(value),
            "discovery": about,
            "steps": [
                {**document_of(step), "samples": _samples(step, packed, content.code_isa)}
                for step, packed in steps
            ],
        }
        yield f"{GENERALISATIONS}{value.number:05}.json", _json(document)
    for batch, about, packed in content.batches:
        document = {
            **document_of(batch),
            "discovery": about,
            "samples": _samples(batch, packed, content.code_isa),
        }
        yield f"{BATCHES}{batch.number:05}.json", _json(document)
    for path, member in content.files:
        yield FILES + path, member


def _samples(value: StepValue | BatchValue, packed: bytes, isa: str) -> Json | None:
    """The blocks; None where only their numbers were kept."""
    return None if value.n and not packed else sample_document(unpack(packed), isa)


def _json(value: Any) -> bytes:
    text = json_text(clean_texts(value), allow_nan=False, separators=(",", ":"))
    return text.encode() + b"\n"


def is_campaign_archive(names: Iterable[str]) -> bool:
    """Whether these are the files of such an archive."""
    return {MAIN, ALL_DISCOVERIES} <= set(names)


def read_archive(tree: FileTree, told: Told | None = None) -> SpooledCampaign:
    """Read an archive. Raises `ExchangeError` that says which file is not as it should be, and where."""
    return _Reading(tree, told).read()


class _Reading:
    """An archive on its way to values."""

    def __init__(self, tree: FileTree, told: Told | None) -> None:
        self._tree = tree
        self._told = told
        self._names = tree.names()
        main = self._json(MAIN)
        if not isinstance(main, dict) or main.get("format") != FORMAT:
            raise ExchangeError(f'{MAIN}: "format": "{FORMAT}" is expected')
        self._version = main.get("version")
        if self._version not in (WITHOUT_FAMILIES, VERSION) or isinstance(self._version, bool):
            wrong = str(self._version)[:20]
            raise ExchangeError(
                f"{MAIN}: version {wrong} cannot be read, only {WITHOUT_FAMILIES} and {VERSION}"
            )
        campaign = read_value(main.get("campaign"), CampaignValue, f"{MAIN}, campaign")
        check_told(campaign, f"{MAIN}, campaign")
        predictors = _list(main.get("predictors"), f"{MAIN}, predictors")
        isa = str(main.get("isa"))
        self._rows = SpooledCampaign(
            campaign,
            isa if target_of(isa).blocks is not None else "",
            [
                read_value(given, PredictorValue, f"{MAIN}, predictors[{at}]")
                for at, given in enumerate(predictors)
            ],
        )
        self._numbers: dict[str, set[int]] = {}
        if self._version == WITHOUT_FAMILIES:
            campaign.facts.pop("families", None)
        check_families_told(campaign.facts, len(predictors), f"{MAIN}, campaign, facts")

    def read(self) -> SpooledCampaign:
        """All of it."""
        self._discoveries()
        apart = {MAIN, ALL_DISCOVERIES}
        if self._version != WITHOUT_FAMILIES:
            self._families()
            apart.add(ALL_FAMILIES)
        others = [path for path in self._names if path not in apart]
        for count, path in enumerate(others, start=1):
            if path.startswith(GENERALISATIONS):
                self._generalisation(path)
            elif path.startswith(BATCHES):
                self._batch(path)
            elif path.startswith(FILES):
                content = self._tree.read(path)
                kept = FileValue(path=path[len(FILES) :], size=len(content))
                self._rows.files.append(self._rows.spool.keep(kept, zlib.compress(content)))
            else:
                raise ExchangeError(f"{path}: no file of this name belongs into the archive of a campaign")
            if self._told is not None:
                self._told(count, len(others))
        return self._rows

    def _discoveries(self) -> None:
        above: dict[int, Any] = {}
        for at, given in enumerate(_list(self._json(ALL_DISCOVERIES), ALL_DISCOVERIES)):
            where = f"{ALL_DISCOVERIES}[{at}]"
            own, apart = _parted(given, ("subsumed_by",), where)
            row = read_value(own, DiscoveryValue, where)
            _check_abstract(row.abstract, f"{where}, abstract")
            self._new(ALL_DISCOVERIES, row.number, where)
            self._rows.discoveries.append(row)
            above[row.number] = apart["subsumed_by"]
        for number, other in above.items():
            if other is not None:
                self._rows.subsumed_by[number] = self._discovery(other, ALL_DISCOVERIES)

    def _families(self) -> None:
        given = _list(self._json(ALL_FAMILIES), ALL_FAMILIES)
        if given and "families" not in self._rows.campaign.facts:
            raise ExchangeError(
                f"{MAIN}, campaign, facts: families is missing, though {ALL_FAMILIES} has some"
            )
        tools, known = len(self._rows.predictors), self._numbers.get(ALL_DISCOVERIES, set())
        taken: set[int] = set()
        for at, one in enumerate(given):
            where = f"{ALL_FAMILIES}[{at}]"
            row, members = read_family(one, tools, known, where)
            self._new(ALL_FAMILIES, row.number, where)
            if twice := sorted(taken & set(members)) or [one for one in members if members.count(one) > 1]:
                raise ExchangeError(f"{where}, discoveries: {twice[0]} is in a family already")
            taken |= set(members)
            self._rows.families.append(row)
            self._rows.members[row.number] = members

    def _generalisation(self, path: str) -> None:
        own, apart = _parted(self._json(path), ("discovery", "steps"), path)
        row = read_value(own, GeneralisationValue, path)
        for name in ("start", "result"):
            _check_abstract(getattr(row, name), f"{path}, {name}")
        self._new(GENERALISATIONS, row.number, path)
        if apart["discovery"] is not None:
            self._rows.became_of[row.number] = self._discovery(apart["discovery"], path)
        steps = _list(apart["steps"], f"{path}, steps")
        self._rows.generalisations.append(row)
        self._rows.steps[row.number] = [
            self._step(given, at, f"{path}, steps[{at}]") for at, given in enumerate(steps)
        ]

    def _step(self, given: Any, at: int, where: str) -> Bulk[StepValue]:
        own, inner = _parted(given, ("samples",), where)
        step = read_value(own, StepValue, where)
        if step.number != at:
            raise ExchangeError(f"{where}: the number is {step.number}; steps are numbered from 0")
        if step.expansion is not None:
            _check_expansion(step.expansion, f"{where}, expansion")
        return self._rows.spool.keep(step, self._packed(inner["samples"], step.n, step.interesting, where))

    def _batch(self, path: str) -> None:
        own, apart = _parted(self._json(path), ("discovery", "samples"), path)
        row = read_value(own, BatchValue, path)
        self._new(BATCHES, row.number, path)
        if apart["discovery"] is not None:
            self._rows.batch_of[row.number] = self._discovery(apart["discovery"], path)
        packed = self._packed(apart["samples"], row.n, row.interesting, path)
        self._rows.batches.append(self._rows.spool.keep(row, packed))

    def _new(self, among: str, number: int, where: str) -> None:
        """Every number occurs once."""
        known = self._numbers.setdefault(among, set())
        if number in known:
            raise ExchangeError(f"{where}: the number {number} occurs twice")
        known.add(number)

    def _discovery(self, number: Any, where: str) -> int:
        if not isinstance(number, int) or number not in self._numbers.get(ALL_DISCOVERIES, ()):
            raise ExchangeError(f"{where}: there is no discovery with the number {str(number)[:20]!r}")
        return number

    def _packed(self, given: Any, n: int, interesting: int | None, where: str) -> bytes:
        if given is None and n >= (interesting or 0):  # pruned before it was exported
            return b""
        samples = read_samples(given, len(self._rows.predictors), f"{where}, samples")
        if len(samples) != n or (interesting or 0) > n:
            raise ExchangeError(
                f"{where}: {len(samples)} blocks where n is {n}, {interesting} of them interesting"
            )
        return pack(samples)

    def _json(self, path: str) -> Any:
        if path not in self._names:
            raise ExchangeError(f"{self._tree.name} has no {path}: it belongs to the archive of a campaign")
        return read_json(self._tree, path)


def _check_abstract(given: Any, where: str) -> None:
    if given is None:
        return
    try:
        documents.read(given, everything())
    except AnicaError as error:
        raise ExchangeError(f"{where}: {error}") from error


def _check_expansion(given: Any, where: str) -> None:
    try:
        if not isinstance(given, dict) or given.get("feature", "lock") not in everything().names:
            raise AnicaError(f"an expansion is about one of {', '.join(everything().names)}")
        documents.read_expansion(given, everything())
    except AnicaError as error:
        raise ExchangeError(f"{where}: {error}") from error


def _parted(given: Any, apart: tuple[str, ...], where: str) -> tuple[Json, Json]:
    """The fields of a row, and those beside it, which have to be there."""
    if not isinstance(given, dict) or any(name not in given for name in apart):
        raise ExchangeError(f"{where}: an object with {' and '.join(apart)} is expected")
    own = {name: value for name, value in given.items() if name not in apart}
    return own, {name: given[name] for name in apart}


def _list(given: Any, where: str) -> list[Any]:
    if not isinstance(given, list):
        raise ExchangeError(f"{where}: a list is expected")
    return given
