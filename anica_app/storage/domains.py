"""The abstract domain of a campaign, over the schemes that all of its predictors support."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain.settings import DomainSettings, SpaceSettings
from anica_app.core.errors import AnicaError
from anica_app.core.search.search_tasks import SearchContext
from anica_app.core.search.settings import SearchSettings
from anica_app.models import Campaign, CampaignFile
from inference.core.events import Log, PhaseStarted, Progress
from inference.core.protocols import Checkpoint, Json
from inference.models import PortMapping
from inference.models.scheme_search import search_schemes
from inference.predictors.panel import Panel
from inference.predictors.protocol import Answer
from inference.runs.errors import JobError
from inference.runs.kinds import Task
from inference.runs.request import needed_row
from inference.storage.instruction_sets import code_isa_row
from inference.storage.mappings import load_mapping

STAGE_SUPPORT = "support"
SUPPORT = "support.json"
"""The file of a campaign with the schemes of its blocks, and those excluded by each tool."""

_PIECE = 500
"""Blocks per request: enough to be efficient, few enough to report progress."""


def chosen_domain(
    isa: str, space: Json, domain: Json, scheme_filter: str = "", uops: int | None = None
) -> BlockDomain:
    """The abstract domain over the schemes that settings and filter leave, supported by tools or not.

    Args:
        isa: Name of the instruction set.
        space: Settings of the space of schemes, as JSON.
        domain: Settings of the abstraction, as JSON.
        scheme_filter: A search of schemes, as in the scheme table; "" for all.
        uops: Id of a mapping that gives numbers of µops; None for none.

    Raises:
        JobError: No scheme is left, or the instruction set is not loaded.
    """
    among = None
    if scheme_filter:
        row = code_isa_row(isa)
        if row is None:
            raise JobError(f"the instruction set {isa} is not loaded: run `manage.py load-isa {isa}`")
        schemes = search_schemes(row.schemes.all(), scheme_filter)
        among = list(schemes.values_list("text", flat=True))
    try:
        older_defaults = {"gradual": False, "dependencies": False}  # of descriptions that do not know them
        settings = DomainSettings(**{**older_defaults, **domain})
        return BlockDomain.of(settings, SpaceSettings(**space), among=among, uops=_uops(uops), isa=isa)
    except AnicaError as error:
        raise JobError(str(error)) from error


def restricted_domain(
    task: Task, campaign: Campaign, panel: Panel, domain: BlockDomain, labels: Sequence[str]
) -> tuple[BlockDomain, Json]:
    """The domain over the schemes that all predictors support, and the contents of `SUPPORT`.

    Support is queried once per campaign; a resumed run uses the file.
    """
    file = campaign.files.filter(path=SUPPORT).first()
    if file is None:
        task.reporter.emit(PhaseStarted(STAGE_SUPPORT, 1, labels))
        support = _query_support(task, panel, domain)
        file = _store_support(campaign, support)
    document = json.loads(zlib.decompress(bytes(file.content)))
    if not document["supported"]:
        names = " and ".join(tool.name for tool in panel.predictors)
        raise JobError(f"there is no scheme that {names} support: {_complaint(document)}")
    return domain.restricted(document["supported"]), document


def search_context(domain: BlockDomain, search: Json, seed: int) -> SearchContext:
    """The context in which a campaign's tasks run; `search`: its settings as JSON, `seed`: of all samples."""
    settings = SearchSettings(**{"names_first": False, **search})  # which older descriptions do not know
    return SearchContext(domain, settings, seed)


def _query_support(task: Task, panel: Panel, domain: BlockDomain) -> Support:
    """Ask every tool about an instance of every scheme; answers so far survive an interruption."""
    blocks = dict(zip(domain.space.texts, domain.instances(), strict=True))

    def report(done: int) -> None:
        panel.flush()
        task.reporter.save(task.checkpoint or Checkpoint({}))  # answers are remembered: the run gets on
        task.reporter.emit(Progress(STAGE_SUPPORT, done, len(blocks), 0.0, "schemes", None))

    support = find_support(panel, blocks, report)
    for number, tool in enumerate(panel.predictors, start=1):
        text = f"{tool.name} does not support {support.by_predictor(number):,} of {len(blocks):,} schemes"
        task.reporter.emit(Log("info", text))
    return support


def _store_support(campaign: Campaign, support: Support) -> CampaignFile:
    content = json.dumps(
        {
            "supported": list(support.supported),
            "lacking": {
                text: {str(number): str(answer.failure or "0 cycles") for number, answer in answers.items()}
                for text, answers in support.lacking.items()
            },
        }
    ).encode()
    file, _ = campaign.files.get_or_create(
        path=SUPPORT, defaults={"size": len(content), "content": zlib.compress(content)}
    )
    return file


def _complaint(document: Json) -> str:
    text, answers = next(iter(document["lacking"].items()))
    return f"of {text!r} the first says {next(iter(answers.values()))!r}"


def _uops(mapping: int | None) -> dict[str, int] | None:
    """{scheme: number of its µops} in a port mapping; None without one."""
    if mapping is None:
        return None
    usage = load_mapping(needed_row(PortMapping, mapping)).usage
    return {scheme: sum(count for _, count in uops) for scheme, uops in usage.items()}


@dataclass(frozen=True)
class Support:
    """Schemes that all predictors support, with a positive number for a one-instruction block.

    `lacking`: {other scheme: {number of a predictor, from 1: its answer}}.
    """

    supported: tuple[str, ...]
    lacking: Mapping[str, Mapping[int, Answer]]

    def by_predictor(self, number: int) -> int:
        return sum(number in answers for answers in self.lacking.values())


def find_support(
    panel: Panel, blocks: Mapping[str, bytes], report: Callable[[int], None] = lambda done: None
) -> Support:
    """Ask all predictors for a one-instruction block of each scheme.

    Args:
        panel: The predictors.
        blocks: {scheme text: code}.
        report: Called with the number of schemes answered so far.
    """
    texts = list(blocks)
    pieces = [texts[begin : begin + _PIECE] for begin in range(0, len(texts), _PIECE)]
    queries = [panel.ask([blocks[text] for text in piece]) for piece in pieces]
    lacking: dict[str, Mapping[int, Answer]] = {}
    done = 0
    for piece, answered in zip(pieces, queries, strict=True):
        for text, answers in zip(piece, answered(), strict=True):
            missing = _missing_answers(answers)
            if missing:
                lacking[text] = missing
        done += len(piece)
        report(done)
    return Support(tuple(text for text in texts if text not in lacking), lacking)


def _missing_answers(answers: Sequence[Answer]) -> dict[int, Answer]:
    return {number: answer for number, answer in enumerate(answers, start=1) if not answer.supported}
