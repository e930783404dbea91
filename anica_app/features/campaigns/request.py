"""Settings that belong together for a purpose; whatever a user says beside them goes before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from anica_app.core.domain import documents
from anica_app.core.domain.features import everything
from anica_app.core.domain.settings import DomainSettings, SpaceSettings
from anica_app.core.protocols import AnicaError
from anica_app.core.search.judging import InterestSettings
from anica_app.core.search.settings import SearchSettings, Termination
from anica_app.models import Discovery, Predictor
from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.features.inferring.request import DEFAULT_SEED, SEED_LIMIT, read_whole
from inference.isa.search import SearchError, parse_search
from inference.models import PortMapping
from inference.runs.described_rows import is_id, read_row, read_rows
from inference.runs.errors import ConfigError


@dataclass(frozen=True)
class Preset:
    """`settings` by the names of their fields; `filter` is a search text that chooses schemes."""

    title: str
    help: str
    settings: Json = field(default_factory=dict)
    filter: str = ""


PRESETS = {
    "tools": Preset(
        "Two tools",
        "A relative difference of more than a half, as in the published comparison of tools (§8.2.2).",
    ),
    "regression": Preset(
        "Two releases of a tool",
        "As for two tools; a failure of one release is told apart from another prediction.",
        {"failures": "crash, timeout, no number"},
    ),
    "hardware": Preset(
        "A tool and a machine",
        "At least 2 cycles of difference, half the samples, and nothing that reads and writes memory at "
        "once, which makes measurements depend on each other (§8.3.3).",
        {"metric": "absolute", "threshold": 2.0, "samples": 50},
        "-memory:RW",
    ),
    "crashes": Preset(
        "Crash hunt",
        "What makes a tool crash; one tool is enough.",
        {"metric": "failure", "failures": "crash"},
    ),
    "mappings": Preset(
        "Two port mappings",
        "Blocks without dependencies, and nothing is said of operands: a mapping knows neither (§8.5).",
        {"aliasing": False},
    ),
    "harness": Preset(
        "Two ways of measuring",
        "Two settings of one harness on one machine, such as unrolled and in a loop, registers zero or not: "
        "a difference of half a cycle matters (§8.5).",
        {"metric": "absolute", "threshold": 0.5, "samples": 50},
        "-memory:RW",
    ),
}


# The description of a campaign: read from JSON, checked against the database, made complete.


MOST_PREDICTORS = 2
MOST_FRESH = 100_000
DEFAULT_MINUTES = 10.0

GROUPS: Mapping[str, Any] = {
    "interest": InterestSettings,
    "search": SearchSettings,
    "domain": DomainSettings,
    "space": SpaceSettings,
}
"""Settings by what they are about; all their names differ."""


@dataclass(frozen=True)
class CampaignConfig:
    """What is searched, how, over which tools, and until when.

    `predictors` are ids of rows. `interest`, `search`, `domain`, `space` and `end` are the complete fields of
    the settings in `GROUPS` and of `Termination`. `scheme_filter` is a search text that schemes must satisfy
    besides. `uops` is the id of a port mapping that gives the numbers of µops. `excluded` are {"discovery":
    its id, "abstract": its document}. `evaluate`: so many fresh blocks of four instructions are judged at the
    end, to tell how much the discoveries explain (§8.2.3); 0 for none.
    """

    predictors: list[int]
    interest: Json
    search: Json
    domain: Json
    space: Json
    end: Json
    preset: str = "tools"
    scheme_filter: str = ""
    uops: int | None = None
    excluded: list[Json] = field(default_factory=list)
    evaluate: int = 0
    seed: int = DEFAULT_SEED

    def as_json(self) -> Json:
        """The complete description."""
        return dict(vars(self))


def read_config(config: Json) -> CampaignConfig:
    """Check and complete a description. Raises `ConfigError` naming the field.

    Beside the fields of `CampaignConfig` it takes `settings`: any of their settings by name, as text too.
    """
    known = [*CampaignConfig.__dataclass_fields__, "settings"]
    unknown = sorted(config.keys() - set(known))
    if unknown:
        raise ConfigError(f"a campaign has no field {unknown[0]!r}; its fields are {', '.join(known)}")
    preset = config.get("preset", "tools")
    if not isinstance(preset, str) or preset not in PRESETS:
        raise ConfigError(f"preset must be one of {', '.join(PRESETS)}, not {preset!r:.80}")
    predictors = read_predictors(config.get("predictors"))
    groups = read_settings(config, {**PRESETS[preset].settings, **_usual(predictors)})
    return CampaignConfig(
        predictors=[row.pk for row in predictors],
        **groups,
        end=_end(config.get("end", {})),
        preset=preset,
        scheme_filter=_filter(config.get("scheme_filter", PRESETS[preset].filter)),
        uops=_mapping(config.get("uops")),
        excluded=_excluded(config.get("excluded", [])),
        evaluate=read_whole("evaluate", config.get("evaluate", 0), 0, MOST_FRESH),
        seed=read_whole("seed", config.get("seed", DEFAULT_SEED), 0, SEED_LIMIT - 1),
    )


def read_predictors(given: object) -> list[Predictor]:
    """The rows of one or two predictors. Raises `ConfigError`."""
    rows = read_rows(Predictor, "predictors", given, 1, MOST_PREDICTORS)
    if isinstance(given, list) and len(rows) < len(given):
        raise ConfigError("predictors: a predictor always agrees with itself; choose two different ones")
    return rows


def read_settings(config: Json, usual: Json) -> dict[str, Json]:
    """The complete settings of each group: what its field says, else what `settings` says by name.

    `usual` takes the place of the defaults. Raises `ConfigError`.
    """
    given = config.get("settings", {})
    if not isinstance(given, Mapping):
        raise ConfigError(f"settings must be an object of names and values, not {given!r}"[:200])
    owners = {one.name: group for group, cls in GROUPS.items() for one in fields(cls)}
    strangers = sorted(given.keys() - owners.keys())
    if strangers:
        raise ConfigError(f"there is no setting {strangers[0]!r}; there are {', '.join(sorted(owners))}")
    found: dict[str, Json] = {}
    for group, cls in GROUPS.items():
        own = config.get(group, {})
        if not isinstance(own, Mapping):
            raise ConfigError(f"{group} must be an object of names and values, not {own!r}"[:200])
        named = {name: value for name, value in {**usual, **given}.items() if owners[name] == group}
        try:
            found[group] = dict(vars(cls.parse({**named, **own})))
        except InvalidInputError as error:
            raise ConfigError(f"{group}: {error}") from error
    return found


def _usual(predictors: list[Predictor]) -> Json:
    """Mappings know no dependencies: where there is nothing else, blocks have none."""
    return {"aliasing": False} if all(row.kind == "mapping" for row in predictors) else {}


def _end(given: object) -> Json:
    if not isinstance(given, Mapping):
        raise ConfigError(f"end must be an object of names and values, not {given!r}"[:200])
    named = {name: value for name, value in given.items() if value is not None}
    try:
        return dict(vars(Termination.parse(named or {"minutes": DEFAULT_MINUTES})))
    except InvalidInputError as error:
        raise ConfigError(f"end: {error}") from error


def _filter(given: object) -> str:
    if not isinstance(given, str):
        raise ConfigError(f"scheme_filter must be a search text, not {given!r}"[:200])
    try:
        parse_search(given)
    except SearchError as error:
        raise ConfigError(f"scheme_filter: {error}") from error
    return given


def _mapping(pk: object) -> int | None:
    if pk is None:
        return None
    return read_row(PortMapping, "uops", pk).pk


def _excluded(given: object) -> list[Json]:
    """Discoveries by id, with their documents: they may be gone when the campaign is done again."""
    if not isinstance(given, list):
        raise ConfigError(f"excluded must be a list of discoveries, not {given!r}"[:200])
    found = []
    for one in given:
        if isinstance(one, dict) and isinstance(one.get("abstract"), dict):
            found.append(_document(one))
            continue
        row = Discovery.objects.filter(pk=one).first() if is_id(one) else None
        if row is None or row.abstract is None:
            raise ConfigError(f"excluded: there is no discovery of ours with the id {one!r:.80}")
        found.append({"discovery": row.pk, "abstract": row.abstract})
    return found


def _document(given: Json) -> Json:
    """A discovery that may be gone, by its document."""
    pk = given.get("discovery")
    if pk is not None and not is_id(pk):
        raise ConfigError(f"excluded: discovery must be the id of one, not {pk!r:.80}")
    try:
        documents.read(given["abstract"], everything())
    except AnicaError as error:
        raise ConfigError(f"excluded: {error}") from error
    return {"discovery": pk, "abstract": given["abstract"]}
