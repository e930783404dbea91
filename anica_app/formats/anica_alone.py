"""Reads single documents of the published AnICA, without the directory of their campaign.

An abstract block becomes a campaign with this discovery, of which no tool is known. A configuration becomes a
campaign that has discovered nothing, whose settings another one can begin with; a list of campaigns to be
run, one each. They name files (`abstraction_config_path`), whose settings are not in them.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

from anica_app.core.block_domain import generality_of
from anica_app.core.search.interestingness import ABSOLUTE
from anica_app.formats import DOCUMENT_KEYS
from anica_app.formats.anica_abstract import NotTranslatable, abstract_document
from anica_app.formats.anica_campaigns import predictor_named
from anica_app.formats.anica_documents import PublishedDiscovery, predictors_in, without_docs
from anica_app.formats.campaign_values import (
    ANICA,
    NAME_LIMIT,
    SOURCE_LIMIT,
    CampaignValue,
    DiscoveryValue,
    SpooledCampaign,
)
from anica_app.formats.value_documents import checked_json
from inference.core.protocols import Json
from inference.formats.archived_parts import read_shape
from inference.formats.problems import ExchangeError
from inference.isa.targets import X86

TITLE = "document of AnICA (JSON)"
MAX_CAMPAIGNS = 200  # in a list; a full comparison of seven tools has 21 pairs

_SECTIONS = ("insn_feature_manager", "interestingness_metric", "discovery", "sampling", "iwho", "predmanager")
"""Parts of an abstraction's configuration."""

_BEGINNING = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*+[\[{]")


def is_document(beginning: bytes) -> bool:
    """Whether a file that begins with these bytes is a document of AnICA."""
    return bool(_BEGINNING.match(beginning) and DOCUMENT_KEYS.search(beginning))


def read_documents(content: bytes, file_name: str) -> list[SpooledCampaign]:
    """The campaigns of a document. Raises `ExchangeError` with the place of what is wrong."""
    data = checked_json(content, file_name)
    stem = PurePath(file_name).stem[:NAME_LIMIT] or "AnICA"
    source = f"{PurePath(file_name).name}, {TITLE}"[:SOURCE_LIMIT]
    match data:
        case {"abs_insns": _}:
            return [_discovery({"ab": data}, file_name, stem, source)]
        case {"ab": _}:
            return [_discovery(data, file_name, stem, source)]
        case {"predictors": _}:
            return [_configured_campaign(data, file_name, stem, source)]
        case dict() if data.keys() & set(_SECTIONS):
            return [_campaign(stem, source, {"abstraction_config": without_docs(data)})]
        case [_, *_] if all(isinstance(entry, dict) for entry in data) and len(data) <= MAX_CAMPAIGNS:
            numbers = [f" {number}" for number in range(1, len(data) + 1)] if len(data) > 1 else [""]
            places = [f"{file_name}, entry {number}" for number in range(1, len(data) + 1)]
            return [
                _configured_campaign(entry, place, f"{stem[: NAME_LIMIT - 4]}{number}", source)
                for entry, place, number in zip(data, places, numbers, strict=True)
            ]
    right = f"an abstract block, a configuration, or a list of at most {MAX_CAMPAIGNS} campaigns is expected"
    raise ExchangeError(f"{file_name}: this is no document of AnICA that stands alone; {right}")


def _campaign(name: str, source: str, config: Json) -> SpooledCampaign:
    value = CampaignValue(
        name=name, kind="campaign", origin="import", format=ANICA, source=source, config=config
    )
    return SpooledCampaign(value, X86)


def _configured_campaign(data: Json, place: str, name: str, source: str) -> SpooledCampaign:
    """A campaign to be run. A template for several pairs of tools has no tools of its own."""
    rows = _campaign(name, source, without_docs(data))
    if "predictors" in data:
        rows.predictors = [predictor_named(tool) for tool in predictors_in(data, place)]
    return rows


def _discovery(data: Json, file_name: str, name: str, source: str) -> SpooledCampaign:
    published: Any = read_shape(PublishedDiscovery, data, file_name)
    config = {"abstraction_config": published.config} if published.config else {}
    rows = _campaign(name, source, config)
    rows.campaign.kind = "generalisation"
    try:
        abstract = abstract_document(published.abstract)
    except NotTranslatable as error:
        abstract, rows.campaign.facts = None, {"unsayable": {name[:100]: str(error)[:200]}}
    rows.discoveries = [
        DiscoveryValue(
            number=0,
            label=name[:100],
            abstract=abstract,
            generality=generality_of(abstract),
            foreign=published.abstract,
            length=published.length,
            remarks=published.remarks,
        )
    ]
    return rows


def settings_in(config: Json) -> Json:
    """What a configuration of AnICA says of the settings of a campaign here, by their groups.

    Their threshold has to be reached, ours exceeded; the form shows the same number.
    """
    abstraction, stop = (_object(config, key) for key in ("abstraction_config", "termination"))
    metric, discovery = (_object(abstraction, key) for key in ("interestingness_metric", "discovery"))
    lengths, strategy = (discovery.get(key) for key in _LISTS)
    ratio = metric.get("mostly_interesting_ratio")
    minutes = sum(_number(stop.get(unit)) * of_unit for unit, of_unit in _MINUTES.items())
    search = {
        "samples": discovery.get("generalization_batch_size"),
        "batch": discovery.get("discovery_batch_size"),
        "longest": max(map(_number, lengths), default=None) if isinstance(lengths, list) else None,
        "orders": sum(_number(entry[-1]) for entry in strategy if isinstance(entry, list) and entry)
        if isinstance(strategy, list)
        else None,
        "exceptions": None if ratio is None else round(1 - _number(ratio), 6),
    }
    interest = {
        "threshold": metric.get("min_interestingness"),
        "metric": ABSOLUTE if metric.get("use_absolute_difference") else None,
    }
    end = {"minutes": minutes, "discoveries": stop.get("num_discoveries")}
    groups = {"search": search, "interest": interest, "end": end}
    return {name: {key: value for key, value in group.items() if value} for name, group in groups.items()}


_LISTS = ("discovery_possible_block_lengths", "generalization_strategy")
_MINUTES = {"days": 1440, "hours": 60, "minutes": 1}


def _object(value: Json, key: str) -> Json:
    part = value.get(key)
    return part if isinstance(part, dict) else {}


def _number(value: object) -> float:
    """A number of a configuration, 0 for anything else."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0
