"""The description of a campaign: read from JSON, checked against the database, made complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from anica_app.core.domain import documents
from anica_app.core.domain.features import everything
from anica_app.core.errors import AnicaError
from anica_app.core.search.settings import Termination
from anica_app.features.campaigns.presets import PRESETS
from anica_app.models import Discovery
from anica_app.storage.descriptions import DEFAULT_FRESH, GROUPS, MOST_FRESH, Interest, read_against
from inference.core.errors import InvalidInputError, as_written
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import AS_NAMED, QuestionMode, asked_in_mode
from inference.isa.search import SearchError, parse_search
from inference.models import PortMapping, Predictor
from inference.runs.described_rows import is_id, read_row, read_rows
from inference.runs.errors import ConfigError
from inference.runs.request import DEFAULT_SEED, SEED_LIMIT, RunRequest, chosen

MOST_PREDICTORS = 2
DEFAULT_MINUTES = 10.0


class CampaignConfig(RunRequest):
    """What is searched, how, over which tools, and until when.

    `predictors` are ids of rows. `interest`, `search`, `domain`, `space` and `end` are the complete fields of
    the settings in `GROUPS` and of `Termination`. `scheme_filter` is a search text that schemes must satisfy
    besides. `uops` is the id of a port mapping that gives the numbers of µops. `excluded` are {"discovery":
    its id, "abstract": its document}, or ids. `settings` are any of those of all groups by name, as
    text too, which a complete description does not have. `evaluate`: so many fresh blocks of four
    instructions are predicted at the end, to tell how much discoveries and families explain (§8.2.3); 0 for
    none: then they are weighed by the blocks that the campaign began with. `against`: id of a campaign whose
    families those of this one are held against; without, the newest over the same tools but for their
    releases. `judge`: id of a predictor, such as a machine, that tells who is right. `mode`: in which all are
    asked; without, as blocks are measured where one of them measures.
    """

    noun = "a campaign"
    predictors: Annotated[list[int], Field(min_length=1, max_length=MOST_PREDICTORS)]
    settings: Annotated[Json, Field(exclude=True)] = {}
    interest: Interest = {}
    search: Json = {}
    domain: Json = {}
    space: Json = {}
    end: Json = {}
    preset: Annotated[str, AfterValidator(partial(chosen, tuple(PRESETS)))] = "tools"
    scheme_filter: str | None = None
    uops: int | None = None
    excluded: list[Any] = []
    evaluate: Annotated[int, Field(ge=0, le=MOST_FRESH)] = DEFAULT_FRESH
    against: int | None = None
    judge: int | None = None
    mode: QuestionMode = AS_NAMED
    seed: Annotated[int, Field(ge=0, le=SEED_LIMIT - 1)] = DEFAULT_SEED


def read_config(given: Json) -> CampaignConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = CampaignConfig.read(given)
    judges = [] if config.judge is None else [read_row(Predictor, "judge", config.judge)]
    predictors = read_predictors(config.predictors, config.mode, judges)
    preset = PRESETS[config.preset]
    found: Json = {
        "predictors": [row.pk for row in predictors],
        **read_settings(given, {**preset.settings, **_usual(predictors)}),
        "end": _end(config.end),
        "scheme_filter": _filter(preset.filter if config.scheme_filter is None else config.scheme_filter),
        "uops": None if config.uops is None else read_row(PortMapping, "uops", config.uops).pk,
        "excluded": _excluded(config.excluded),
        "against": None if config.against is None else read_against(config.against, len(predictors)),
        "judge": _judge(asked_in_mode(judges, config.mode, predictors), predictors),
    }
    return config.model_copy(update=found)


def read_predictors(
    given: list[int], mode: str = AS_NAMED, beside: Sequence[Predictor] = ()
) -> list[Predictor]:
    """The rows of one or two predictors, in a mode as `asked_in_mode` has it. Raises `ConfigError`."""
    named = read_rows(Predictor, "predictors", given, 1, MOST_PREDICTORS)
    rows = asked_in_mode(named, mode, beside)
    if len(rows) < len(given):
        raise ConfigError("predictors: a predictor always agrees with itself; choose two different ones")
    return rows


def _judge(judges: Sequence[Predictor], predictors: Sequence[Predictor]) -> int | None:
    """The id of a third predictor, if one judges. Raises `ConfigError`."""
    if not judges:
        return None
    (row,) = judges
    if len(predictors) < MOST_PREDICTORS:
        raise ConfigError("judge: who is right can be told of two predictors alone")
    if row.pk in [one.pk for one in predictors]:
        raise ConfigError(f"judge: {row.name} is one of the two that are judged; choose a third predictor")
    return row.pk


def read_settings(config: Json, usual: Json) -> dict[str, Json]:
    """The complete settings of each group: what its field says, else what `settings` says by name.

    `usual` takes the place of the defaults. Raises `ConfigError`.
    """
    given = config.get("settings", {})
    owners = {one.name: group for group, cls in GROUPS.items() for one in fields(cls)}
    strangers = sorted(given.keys() - owners.keys())
    if strangers:
        raise ConfigError(f"there is no setting {strangers[0]!r}; there are {', '.join(sorted(owners))}")
    found: dict[str, Json] = {}
    for group, cls in GROUPS.items():
        own = config.get(group, {})
        named = {name: value for name, value in {**usual, **given}.items() if owners[name] == group}
        try:
            found[group] = dict(vars(cls.parse({**named, **own})))
        except InvalidInputError as error:
            raise ConfigError(f"{group}: {error}") from error
    return found


def _usual(predictors: list[Predictor]) -> Json:
    """Mappings know no dependencies: where there is nothing else, blocks have none."""
    return {"aliasing": False} if all(row.kind == "mapping" for row in predictors) else {}


def _end(given: Json) -> Json:
    named = {name: value for name, value in given.items() if value is not None}
    try:
        return dict(vars(Termination.parse(named or {"minutes": DEFAULT_MINUTES})))
    except InvalidInputError as error:
        raise ConfigError(f"end: {error}") from error


def _filter(given: str) -> str:
    try:
        parse_search(given)
    except SearchError as error:
        raise ConfigError(f"scheme_filter: {error}") from error
    return given


def _excluded(given: list[Any]) -> list[Json]:
    """Discoveries by id, with their documents: they may be gone when the campaign is done again."""
    found = []
    for one in given:
        if isinstance(one, dict) and isinstance(one.get("abstract"), dict):
            found.append(_document(one))
            continue
        row = Discovery.objects.filter(pk=one).first() if is_id(one) else None
        if row is None or row.abstract is None:
            raise ConfigError(f"excluded: there is no discovery of ours with the id {as_written(one)}")
        found.append({"discovery": row.pk, "abstract": row.abstract})
    return found


def _document(given: Json) -> Json:
    """A discovery that may be gone, by its document."""
    pk = given.get("discovery")
    if pk is not None and not is_id(pk):
        raise ConfigError(f"excluded: discovery must be the id of one, not {as_written(pk)}")
    try:
        documents.read(given["abstract"], everything())
    except AnicaError as error:
        raise ConfigError(f"excluded: {error}") from error
    return {"discovery": pk, "abstract": given["abstract"]}
