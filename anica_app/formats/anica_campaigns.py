"""Reads campaigns and generalisations of the published AnICA.

Everything in a directory is read: discoveries, decisions, sampled blocks with every tool's answer, and all
documents byte for byte. Decisions and abstract blocks are translated where possible. Measurements are read
once, one series at a time.
"""

from __future__ import annotations

import math
import zlib

from anica_app.core.search.interestingness import (
    ABSOLUTE,
    RELATIVE,
    Disagreement,
    InterestJudge,
    InterestSettings,
)
from anica_app.formats.anica_documents import (
    DATABASE,
    MINIMISED_BLOCK,
    START_BLOCK,
    Published,
    duration,
    read_published,
)
from anica_app.formats.anica_measurements import DATABASE_LIMIT, open_measurements
from anica_app.formats.anica_rows import CampaignBuilder, OnProgress
from anica_app.formats.campaign_values import (
    ANICA,
    NAME_LIMIT,
    SOURCE_LIMIT,
    CampaignValue,
    FileValue,
    PredictorValue,
    SpooledCampaign,
)
from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.formats.file_trees import FILE_LIMIT, FileTree
from inference.formats.problems import ExchangeError
from inference.isa.blocks import BlockError, block_of_text
from inference.isa.targets import X86
from inference.predictors.protocol import IMPORTED, Failure

TITLE = "AnICA campaign"
GENERALISATION_TITLE = "AnICA generalisation"
_HIGHEST = 1e300
"""Thresholds above are treated as invalid."""


def read_campaign(tree: FileTree, on_progress: OnProgress | None = None) -> SpooledCampaign:
    """Read a directory of the published AnICA.

    Args:
        tree: The directory, after which the campaign is named.
        on_progress: Called with (blocks read, all blocks); raises in order to stop.

    Raises:
        ExchangeError: A file is missing or invalid; the message has the file and the place in it.
    """
    published = read_published(tree)
    if DATABASE not in tree.names():
        raise ExchangeError(f"{tree.name} has no {DATABASE}: it belongs to a directory of AnICA")
    with tree.on_disk(DATABASE, DATABASE_LIMIT) as path, open_measurements(path, DATABASE) as measurements:
        predictors = published.predictors or tuple(measurements.predictors())
        if not predictors:
            raise ExchangeError(f"{tree.name} names no tool")
        rows = SpooledCampaign(
            _campaign(published, tree), X86, [predictor_named(name) for name in predictors]
        )
        _store_files(rows, tree)
        builder = CampaignBuilder(rows, published, judge_of(published.config), on_progress)
        builder.build(measurements, predictors)
    if not published.is_campaign:
        _add_block(rows, tree)
    return rows


def _campaign(published: Published, tree: FileTree) -> CampaignValue:
    report = published.report
    return CampaignValue(
        name=tree.name[:NAME_LIMIT],
        kind="campaign" if published.is_campaign else "generalisation",
        origin="import",
        format=ANICA,
        source=f"{tree.name}, {TITLE if published.is_campaign else GENERALISATION_TITLE}"[:SOURCE_LIMIT],
        config=published.config,
        rounds=len(report.batches),
        sampled=report.total("num_sampled"),
        interesting=report.total("num_interesting"),
        subsumed=report.total("num_interesting_subsumed"),
        seconds=duration(report.facts.get("seconds_passed")),
        facts={"report": report.facts} if report.facts else {},
    )


def predictor_named(name: str) -> PredictorValue:
    """A predictor of which only the name is known."""
    return PredictorValue(name=name, kind=IMPORTED, identity={"kind": IMPORTED, "name": name})


def _store_files(rows: SpooledCampaign, tree: FileTree) -> None:
    """Store all files except the measurements; of logs that are too large, only the names."""
    for path in tree.names():
        if path == DATABASE:
            continue
        try:
            content = tree.read(path, FILE_LIMIT)
        except ExchangeError:
            if not path.endswith((".txt", ".log")):
                raise
            rows.campaign.facts.setdefault("left_out", []).append(path)
            continue
        rows.files.append(FileValue(path, len(content), rows.spool.keep(zlib.compress(content))))


def judge_of(config: Json) -> InterestJudge | None:
    """The interestingness of a campaign; None where it is inverted or cannot be expressed."""
    match config:
        case {"abstraction_config": {"interestingness_metric": dict(metric)}}:
            threshold = metric.get("min_interestingness", 0.5)
        case _:
            metric, threshold = {}, 0.5
    if metric.get("invert_interestingness") or not (
        isinstance(threshold, (int, float)) and abs(threshold) < _HIGHEST
    ):
        return None
    try:
        settings = InterestSettings(
            metric=ABSOLUTE if metric.get("use_absolute_difference") else RELATIVE,
            threshold=max(0.0, math.nextafter(threshold, 0.0)),  # theirs has to be reached, ours exceeded
            failures=", ".join(failure.value for failure in Failure),
        )
    except InvalidInputError:
        return None
    return Disagreement(settings)


def _add_block(rows: SpooledCampaign, tree: FileTree) -> None:
    """Add the block that was generalised, from its assembly files."""
    codes = {}
    for path in (START_BLOCK, MINIMISED_BLOCK):
        if path in tree.names():
            try:
                codes[path] = block_of_text(tree.read(path).decode("utf-8", errors="replace")).code
            except BlockError as error:
                rows.campaign.facts[path] = str(error)
    minimised = codes.get(MINIMISED_BLOCK, b"")
    for discovery in rows.discoveries:
        discovery.code, discovery.start_code = minimised, codes.get(START_BLOCK, b"")
    for generalisation in rows.generalisations:
        generalisation.code = minimised
