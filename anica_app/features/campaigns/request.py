"""The description of a campaign and its presets: parsed from JSON, checked against the database,
completed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, JsonValue, field_validator

from anica_app.core.domain import documents
from anica_app.core.domain.features import full_vocabulary
from anica_app.core.errors import AnicaError
from anica_app.core.search.settings import Termination
from anica_app.models import Discovery
from anica_app.storage.descriptions import DEFAULT_FRESH, FreshBlocks, SearchRequest, read_against
from inference.core.errors import as_written
from inference.core.protocols import Json
from inference.features.asking.predictors.kinds import common_isa
from inference.features.asking.predictors.modes import AS_NAMED, QuestionMode, rows_in_question_mode
from inference.isa.search import SearchError, parse_search
from inference.measuring.blocks import LOOP
from inference.models import PortMapping, Predictor
from inference.runs.errors import ConfigError
from inference.runs.request import (
    DEFAULT_SEED,
    AllowedTexts,
    RequestPart,
    RowId,
    Seed,
    as_field_error,
    is_id,
    read_row,
    read_rows,
)

MAX_PREDICTORS = 2
DEFAULT_MINUTES = 10.0


@dataclass(frozen=True)
class Preset:
    """Settings for a purpose. `settings` by the names of their fields; `filter`: a search text that chooses
    schemes; `mode`: initial value of the form.
    """

    title: str
    help: str
    settings: Json = field(default_factory=dict)
    filter: str = ""
    mode: str = LOOP


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
        "At least 2 cycles of difference, 10 % exceptions, and fewer samples and orders, as measuring takes "
        "long. Without what reads and writes memory at once, which makes measurements depend on each other "
        "(§8.3.3), and without non-temporal moves, whose times do not settle.",
        {
            "metric": "absolute",
            "threshold": 2.0,
            "samples": 20,
            "confirming": 100,
            "first_look": 10,
            "orders": 1,
            "batch": 50,
            "side_by_side": 8,
            "exceptions": 0.1,
        },
        "-memory:RW -movnt",
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
        AS_NAMED,
    ),
}


class ExcludedDiscovery(RequestPart):
    """A discovery to exclude, by its document, since its row may be deleted."""

    discovery: RowId | None = None
    abstract: dict[str, JsonValue]

    @field_validator("abstract")
    @classmethod
    def _is_document(cls, abstract: Json) -> Json:
        try:
            documents.parse_block(abstract, full_vocabulary())
        except AnicaError as error:
            raise ValueError(f"is no abstract block: {error}") from error
        return abstract


def _read_end(value: Any) -> Any:
    """The limits; the default time limit where none is set."""
    if not isinstance(value, Mapping):
        return value
    stated = {name: limit for name, limit in value.items() if limit is not None}
    with as_field_error():
        return Termination.parse(stated or {"minutes": DEFAULT_MINUTES})


class CampaignConfig(SearchRequest):
    """The description of a campaign: predictors, search, blocks, limits.

    `predictors`: ids of rows. `scheme_filter`: a search text that schemes must match. `uops`: id of a port
    mapping that gives the numbers of µops. `excluded`: ids, which are replaced by documents. `evaluate`:
    fresh blocks of four instructions to predict at the end, to compute the coverage of discoveries and
    families (§8.2.3); with 0 families are weighed by the blocks that the search began with. `against`: id of
    a campaign to compare families with; without, the newest over the same tools except for their releases.
    `judge`: id of a predictor, such as a machine, that decides which tool is right. `mode`: in which blocks
    are predicted; without, that of measuring predictors.
    """

    noun = "a campaign"
    predictors: Annotated[list[int], Field(min_length=1, max_length=MAX_PREDICTORS)]
    end: Annotated[Termination, BeforeValidator(_read_end)] = Termination(minutes=DEFAULT_MINUTES)
    preset: Annotated[str, AllowedTexts(PRESETS)] = "tools"
    scheme_filter: str | None = None
    uops: int | None = None
    excluded: list[int | ExcludedDiscovery] = []
    evaluate: FreshBlocks = DEFAULT_FRESH
    against: int | None = None
    judge: int | None = None
    mode: QuestionMode = AS_NAMED
    seed: Seed = DEFAULT_SEED

    @classmethod
    def purpose(cls, described: Mapping[str, Any]) -> Mapping[str, Any]:
        """The settings of the preset; {} for an unknown one, which is reported at its field."""
        preset = described.get("preset", "tools")
        return PRESETS[preset].settings if isinstance(preset, str) and preset in PRESETS else {}


def read_config(description: Json) -> CampaignConfig:
    """Check and complete a description.

    Raises:
        ConfigError: Names the field and what would be right.
    """
    config = CampaignConfig.read(description)
    judges = [] if config.judge is None else [read_row(Predictor, "judge", config.judge)]
    predictors = read_predictors(config.predictors, config.mode, judges)
    common_isa([row.pk for row in predictors])
    preset = PRESETS[config.preset]
    domain = config.domain
    stated = description.get("settings", {}).keys() | description.get("domain", {}).keys()
    if "aliasing" not in stated and all(row.kind == "mapping" for row in predictors):
        domain = replace(domain, aliasing=False)  # mappings know no dependencies: blocks have none
    completed: Json = {
        "predictors": [row.pk for row in predictors],
        "domain": domain,
        "scheme_filter": _filter(preset.filter if config.scheme_filter is None else config.scheme_filter),
        "uops": None if config.uops is None else read_row(PortMapping, "uops", config.uops).pk,
        "excluded": [_with_document(row) for row in config.excluded],
        "against": None if config.against is None else read_against(config.against, len(predictors)),
        "judge": _judge(rows_in_question_mode(judges, config.mode, predictors), predictors),
    }
    return config.model_copy(update=completed)


def read_predictors(
    ids: list[int], mode: str = AS_NAMED, beside: Sequence[Predictor] = ()
) -> list[Predictor]:
    """The rows of one or two predictors in a mode (see `rows_in_question_mode`). Raises `ConfigError`."""
    named = read_rows(Predictor, "predictors", ids, 1, MAX_PREDICTORS)
    rows = rows_in_question_mode(named, mode, beside)
    if len(rows) < len(ids):
        raise ConfigError("predictors: a predictor always agrees with itself; choose two different ones")
    return rows


def _judge(judges: Sequence[Predictor], predictors: Sequence[Predictor]) -> int | None:
    """The id of a third predictor that judges; None without one. Raises `ConfigError`."""
    if not judges:
        return None
    (row,) = judges
    if len(predictors) < MAX_PREDICTORS:
        raise ConfigError("judge: who is right can be told of two predictors alone")
    if row.pk in [predictor.pk for predictor in predictors]:
        raise ConfigError(f"judge: {row.name} is one of the two that are judged; choose a third predictor")
    return row.pk


def _filter(text: str) -> str:
    try:
        parse_search(text)
    except SearchError as error:
        raise ConfigError(f"scheme_filter: {error}") from error
    return text


def _with_document(excluded: int | ExcludedDiscovery) -> ExcludedDiscovery:
    """The discovery by its document, which stays valid when the campaign is run again."""
    if isinstance(excluded, ExcludedDiscovery):
        return excluded
    row = Discovery.objects.filter(pk=excluded).first() if is_id(excluded) else None
    if row is None or row.abstract is None:
        raise ConfigError(f"excluded: there is no discovery of ours with the id {as_written(excluded)}")
    return ExcludedDiscovery(discovery=row.pk, abstract=row.abstract)
