"""What an archive says of a campaign in its objects `config` and `facts`, as far as our pages rely on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anica_app.formats.campaign_values import OURS, CampaignValue
from inference.core.protocols import Json
from inference.formats.errors import ExchangeError

_WORDS = {str: "a text", dict: "an object", list: "a list", int: "a whole number", float: "a number"}
_GROUPS = ("interest", "search", "domain", "space", "end")
_CONFIG: dict[str, type] = {
    **dict.fromkeys(_GROUPS, dict),
    "preset": str,
    "scheme_filter": str,
    "excluded": list,
}
_FACTS: dict[str, type] = {
    **dict.fromkeys(("judged", "generalisations", "schemes", "unsupported", "seconds"), float),
    **dict.fromkeys(("failures", "unsayable", "explained"), dict),
}
_EXPLAINED: dict[str, type] = {
    "blocks": int,
    "interesting": int,
    "covered": int,
    "by_discovery": dict,
}
_LARGEST = 2**63


def check_told(campaign: CampaignValue, where: str) -> None:
    """Raise `ExchangeError` that names the field where something is of another sort than ours is."""
    config, facts = campaign.config, campaign.facts
    if campaign.format == OURS:
        _check(config, _CONFIG, f"{where}, config")
        _check_id(config.get("uops"), f"{where}, config, uops")
        for at, one in enumerate(config.get("excluded", [])):
            place = f"{where}, config, excluded[{at}]"
            if not isinstance(one, dict):
                raise ExchangeError(f"{place}: an object is expected")
            _check_id(one.get("discovery"), f"{place}, discovery")
    _check(facts, _FACTS, f"{where}, facts")
    _check_counts(facts.get("failures", {}), f"{where}, facts, failures")
    if explained := facts.get("explained", {}):
        _check_explained(explained, f"{where}, facts, explained")


def _check_explained(explained: Json, where: str) -> None:
    if missing := [name for name in _EXPLAINED if name not in explained]:
        raise ExchangeError(f"{where}: the field {missing[0]!r} is missing")
    _check(explained, _EXPLAINED, where)
    counts = explained["by_discovery"]
    _check_counts(counts, f"{where}, by_discovery")
    if strange := [number for number in counts if not (number.isascii() and number.isdecimal())]:
        raise ExchangeError(f"{where}, by_discovery: {strange[0][:60]!r} is no number of a discovery")


def _check_counts(given: Mapping[str, Any], where: str) -> None:
    _check(given, dict.fromkeys(given, int), where)


def _check_id(given: object, where: str) -> None:
    if given is not None and (not isinstance(given, int) or not 0 <= given < _LARGEST):
        raise ExchangeError(f"{where}: {str(given)[:60]!r} is no id of a row")


def _check(given: Mapping[str, Any], sorts: Mapping[str, type], where: str) -> None:
    for name, sort in sorts.items():
        if name in given and not _is_of(given[name], sort):
            raise ExchangeError(f"{where}, {name}: {_WORDS[sort]} is expected, not {str(given[name])[:60]!r}")


def _is_of(value: object, sort: type) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float if sort is float else sort)
