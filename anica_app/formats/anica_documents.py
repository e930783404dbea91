"""The JSON documents of the published AnICA as values: configuration, discoveries, traces, report, metrics.

A campaign's directory has

    campaign_config.json  report.json  discoveries/L.json  witnesses/L.json  [metrics.json]  measurements.db

with a label L such as b018_i000_g001 (batch, interesting block, generalisation), that of a generalisation of
one block

    discovery.json  witness.json  infos.json  [start_bb.s  minimized_bb.s]  measurements.db

Everything here raises `ExchangeError` with the file and the place in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from anica_app.formats.tree_json import read_json
from inference.core.protocols import Json
from inference.formats.errors import ExchangeError
from inference.formats.file_trees import FileTree
from inference.formats.problems import excerpt

CONFIG, REPORT, METRICS, DATABASE = (
    "campaign_config.json",
    "report.json",
    "metrics.json",
    "measurements.db",
)
DISCOVERY, WITNESS, INFOS = "discovery.json", "witness.json", "infos.json"
DISCOVERIES, WITNESSES = "discoveries/", "witnesses/"
START_BLOCK, MINIMISED_BLOCK = "start_bb.s", "minimized_bb.s"
ONE = "generalization"
"""Label of the one discovery in a generalisation's directory."""
LABEL_LENGTH = 100
REASON_LENGTH = 200
LONGEST = 1e9
"""Seconds: decades."""

_DOC = ".doc"


@dataclass(frozen=True)
class PublishedDiscovery:
    """A discovery: its abstract block as written, the series of blocks that it rests on, and remarks."""

    label: str
    abstract: Json
    result_ref: int | None
    remarks: tuple[str, ...]
    config: Json

    @property
    def length(self) -> int:
        """Its number of abstract instructions."""
        return len(self.abstract["abs_insns"])


@dataclass(frozen=True)
class PublishedStep:
    """One decision: the expansion as written, None for the end; `series`: the blocks it rests on."""

    expansion: list[Any] | None
    taken: bool
    comment: str
    series: int | None


@dataclass(frozen=True)
class PublishedTrace:
    """A generalisation from its start."""

    label: str
    start: Json
    steps: tuple[PublishedStep, ...]


@dataclass(frozen=True)
class Rating:
    """What metrics.json says of a discovery; the mean may be infinite."""

    mean: float | None
    subsumed_by: str | None


@dataclass(frozen=True)
class LostGeneralisation:
    """A generalisation that the report names and of which nothing else is left: it brought nothing new."""

    label: str
    repeats: bool
    seconds: float
    steps: int


@dataclass(frozen=True)
class PublishedReport:
    """The figures of a campaign; `batches` as written, `lost` and `seconds` by the labels they belong to."""

    facts: Json = field(default_factory=dict)
    batches: Sequence[Json] = ()
    lost: Sequence[LostGeneralisation] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    absorbed: Mapping[str, str] = field(default_factory=dict)
    """{label: that of the generalisation by which it is subsumed}."""

    def total(self, key: str) -> int:
        """The sum of a count over all batches."""
        return sum(_count(batch.get(key, 0)) for batch in self.batches)


@dataclass(frozen=True)
class Published:
    """All documents of a directory but the measurements."""

    is_campaign: bool
    predictors: tuple[str, ...]
    config: Json
    discoveries: tuple[PublishedDiscovery, ...]
    traces: Mapping[str, PublishedTrace]
    report: PublishedReport
    ratings: Mapping[str, Rating]


def is_published(names: Sequence[str]) -> bool:
    """Whether these are the files of a campaign's directory, or of one generalisation's."""
    return CONFIG in names or {DISCOVERY, WITNESS} <= set(names)


def read_published(tree: FileTree) -> Published:
    """Read the documents of either sort of directory."""
    names = tree.names()
    if CONFIG not in names:
        return _one_generalisation(tree)
    config = _object(tree, CONFIG)
    discoveries = [_discovery(tree, name, _label(name)) for name in names if _is_in(name, DISCOVERIES)]
    traces = [_trace(tree, name, _label(name)) for name in names if _is_in(name, WITNESSES)]
    return Published(
        is_campaign=True,
        predictors=_predictors(config, CONFIG),
        config=without_docs(config),
        discoveries=tuple(discoveries),
        traces={trace.label: trace for trace in traces},
        report=_report(_object(tree, REPORT)) if REPORT in names else PublishedReport(),
        ratings=_ratings(_object(tree, METRICS, finite=False)) if METRICS in names else {},
    )


def _one_generalisation(tree: FileTree) -> Published:
    discovery = _discovery(tree, DISCOVERY, ONE)
    infos = _object(tree, INFOS) if INFOS in tree.names() else {}
    return Published(
        is_campaign=False,
        predictors=_predictors(infos, INFOS) if infos else (),
        config={**infos, "abstraction_config": discovery.config},
        discoveries=(discovery,),
        traces={ONE: _trace(tree, WITNESS, ONE)},
        report=PublishedReport(),
        ratings={},
    )


def without_docs(value: Any) -> Any:
    """A configuration without the entries that only document others."""
    if isinstance(value, dict):
        return {key: without_docs(each) for key, each in value.items() if not key.endswith(_DOC)}
    return [without_docs(each) for each in value] if isinstance(value, list) else value


def _object(tree: FileTree, name: str, *, finite: bool = True) -> Json:
    """The JSON object in a file; `finite`: numbers without end are refused."""
    data = read_json(tree, name, finite=finite)
    if not isinstance(data, dict):
        raise ExchangeError(f"{name}: this is no JSON object; a document of AnICA is expected")
    return data


def _discovery(tree: FileTree, name: str, label: str) -> PublishedDiscovery:
    data = _object(tree, name)
    remarks = data.get("remarks") or []
    if not isinstance(remarks, list):
        raise _wrong(name, "remarks", remarks, "a list of texts")
    return PublishedDiscovery(
        label,
        _abstract(data.get("ab"), name, "ab"),
        _series(data.get("result_ref"), name, "result_ref"),
        tuple(_remark(each) for each in remarks),
        without_docs(data["config"]) if isinstance(data.get("config"), dict) else {},
    )


def _trace(tree: FileTree, name: str, label: str) -> PublishedTrace:
    trace = _object(tree, name).get("trace")
    if not isinstance(trace, dict) or not isinstance(trace.get("trace"), list):
        raise _wrong(name, "trace", trace, 'an object {"start": …, "trace": [steps]}')
    start = _abstract(trace.get("start"), name, "trace.start")
    return PublishedTrace(
        label,
        start,
        tuple(
            _step(each, name, number, len(start["abs_insns"])) for number, each in enumerate(trace["trace"])
        ),
    )


def _step(step: Any, name: str, number: int, length: int) -> PublishedStep:
    where = f"trace.trace[{number}]"
    if not isinstance(step, dict) or not isinstance(step.get("taken"), bool):
        raise _wrong(name, where, step, "a step with taken: true or false")
    expansion = step.get("expansion")
    if expansion is not None and not _is_expansion(expansion, length):
        raise _wrong(name, f"{where}.expansion", expansion, "[0, instruction, [feature, value]] or [1, pair]")
    comment = step.get("comment")
    return PublishedStep(
        expansion,
        step["taken"],
        " ".join(str(comment).split())[:REASON_LENGTH] if comment is not None else "",
        _series(step.get("measurements"), name, f"{where}.measurements"),
    )


def _is_expansion(expansion: Any, length: int) -> bool:
    match expansion:
        case [0, int(instruction), [str(), _]]:
            return 0 <= instruction < length
        case [1, [_, _]]:
            return True
    return False


def _abstract(value: Any, name: str, where: str) -> Json:
    """An abstract block as written, checked as far as its parts go."""
    match value:
        case {"abs_insns": [_, *_] as instructions, "abs_aliasing": {"aliasing_dict": list(), **_rest}}:
            if all(isinstance(each, dict) for each in instructions):
                return dict(value)
    raise _wrong(name, where, value, 'an abstract block {"abs_insns": [objects], "abs_aliasing": {…}}')


def _series(value: Any, name: str, where: str) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31):
        return value
    raise _wrong(name, where, value, "the number of a series, or null")


def _remark(remark: Any) -> str:
    """A remark as text; where it has parts to be filled in, they follow it."""
    if isinstance(remark, list) and remark and isinstance(remark[0], str):
        text = remark[0]
        for part in remark[1:]:
            text = text.replace("{}", str(part), 1)
        return text
    return str(remark)


def _predictors(config: Json, name: str) -> tuple[str, ...]:
    found = config.get("predictors")
    if (
        not isinstance(found, list)
        or not found
        or not all(isinstance(each, str) and each.strip() and len(each) <= LABEL_LENGTH for each in found)
        or len(set(found)) < len(found)
    ):
        raise _wrong(name, "predictors", found, "a list of the names of the tools, each once")
    return tuple(found)


def _report(data: Json) -> PublishedReport:
    batches = _objects(data, "per_batch_stats")
    lost: list[LostGeneralisation] = []
    seconds: dict[str, float] = {}
    absorbed: dict[str, str] = {}
    for stats in _generalisations(batches):
        label = str(stats.get("id", ""))[:LABEL_LENGTH]
        seconds[label] = duration(stats.get("generalization_time"))
        absorbed |= {str(each)[:LABEL_LENGTH]: label for each in _entries(stats, "subsumes")}
        repeats = stats.get("already_found") is True
        lost.append(LostGeneralisation(label, repeats, seconds[label], _count(stats.get("witness_len"))))
    facts = {key: value for key, value in data.items() if key != "per_batch_stats"}
    return PublishedReport(facts, batches, lost, seconds, absorbed)


def _generalisations(batches: Sequence[Json]) -> list[Json]:
    return [
        stats
        for batch in batches
        for sample in _objects(batch, "per_interesting_sample_stats")
        for stats in _objects(sample, "per_generalization_stats")
    ]


def _objects(data: Json, key: str) -> list[Json]:
    return [each for each in _entries(data, key) if isinstance(each, dict)]


def _entries(data: Json, key: str) -> list[Any]:
    """The list of this name, an empty one for nothing. Anything else is an error."""
    found = data.get(key) or []
    if not isinstance(found, list):
        raise _wrong(REPORT, key, found, "a list")
    return found


def duration(value: Any) -> float:
    """Seconds as some document has them; 0 for what can be none."""
    fits = isinstance(value, (int, float)) and 0 <= value < LONGEST
    return float(value) if fits else 0.0


def _ratings(data: Json) -> dict[str, Rating]:
    found = {}
    for label, each in data.items():
        if not isinstance(each, dict):
            raise _wrong(METRICS, label, each, "an object with mean_interestingness and subsumed_by")
        mean, subsumed_by = each.get("mean_interestingness"), each.get("subsumed_by")
        if mean is not None and not _is_number(mean):
            raise _wrong(METRICS, f"{label}.mean_interestingness", mean, "a number")
        found[label] = Rating(
            None if mean is None else float(mean), subsumed_by if isinstance(subsumed_by, str) else None
        )
    return found


def _is_number(value: Any) -> bool:
    """Whether it can be a mean: infinity can, whole numbers that no float holds cannot."""
    if isinstance(value, int):
        return value.bit_length() < 1000
    return isinstance(value, float) and not math.isnan(value)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 31 else 0


def _is_in(name: str, directory: str) -> bool:
    return name.startswith(directory) and name.endswith(".json") and name.count("/") == 1


def _label(name: str) -> str:
    return PurePosixPath(name).stem[:LABEL_LENGTH]


def _wrong(name: str, where: str, value: Any, right: str) -> ExchangeError:
    return ExchangeError(f"{name}, {where}: {excerpt(value)} is not understood; {right} is expected")
