"""AnICA's engine: how many blocks per second tools are asked, which schemes they support, what is explained.

`mca-vs-mca` and `mca-vs-osaca`: blocks that both tools have answered for per wall second of a campaign,
through the whole engine, sampling and subsumption included, without remembered answers; with the CPU time per
block, which the neighbours on a computer change less. The references are what the published tool does on two
such processors. `scheme-support-seconds`: wall seconds until it is known which of at least 3,000 schemes two
releases of llvm-mca support. `coverage-mca-vs-mca`: of the interesting blocks among fresh random ones of four
instructions, the share that the discoveries of a campaign of 10 minutes subsume (the median of three seeds),
beside the published one for releases 13 and 9; `-top-ten` that of the ten best. `coverage-mca-vs-osaca`: the
same after 30 minutes of llvm-mca and OSACA, one seed.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

from anica_app.core.block_domain import BlockDomain
from anica_app.core.discovery_selection import explained_blocks, fresh_blocks, judge_blocks
from anica_app.core.domain.settings import SpaceSettings
from anica_app.core.search.campaign_search import CampaignSearch
from anica_app.core.search.campaign_state import CampaignState
from anica_app.core.search.interestingness import Disagreement, InterestSettings
from anica_app.core.search.search_tasks import Driver, SearchContext
from anica_app.core.search.settings import SearchSettings, Termination
from anica_app.storage.domains import find_support
from benchmarks import MissingDataError, Result
from benchmarks._measured import cpu_seconds
from benchmarks._silent import Silent
from inference.isa.targets import sampling_groups
from inference.predictors.kinds import KINDS
from inference.predictors.panel import Panel
from inference.predictors.protocol import PredictorError

MCA_13 = ("llvm-mca", {"release": "13", "cpu": "haswell"})
MCA_22 = ("llvm-mca", {"release": "22", "cpu": "haswell"})
OSACA: tuple[str, dict[str, str]] = ("osaca", {})

PUBLISHED_RATES = {"mca-vs-mca": 12.6, "mca-vs-osaca": 0.26}
PUBLISHED_SUPPORT = 215.0  # seconds, for 3,209 schemes
PUBLISHED_COVERAGE: dict[str, tuple[float, float | None]] = {  # thesis Table 8.3, by all and by the top ten
    "coverage-mca-vs-mca": (0.97, 0.92),
    "coverage-mca-vs-osaca": (0.77, None),
}
SEEDS = (1, 2, 3)  # of the campaigns whose median coverage counts
FRESH = 10_000  # random blocks on which coverage is judged


def run(quick: bool) -> Iterator[Result]:
    """Support, rates, coverage; `quick` has short campaigns, one seed and fewer fresh blocks."""
    yield _support()
    yield _rate("mca-vs-mca", (MCA_13, MCA_22), 0.2 if quick else 1.0)
    yield _rate("mca-vs-osaca", (MCA_22, OSACA), 0.2 if quick else 1.0)
    seeds, fresh = (SEEDS[:1], FRESH // 10) if quick else (SEEDS, FRESH)
    yield from _coverage("coverage-mca-vs-mca", (MCA_13, MCA_22), 0.2 if quick else 10.0, seeds, fresh)
    yield from _coverage("coverage-mca-vs-osaca", (MCA_22, OSACA), 0.2 if quick else 30.0, seeds[:1], fresh)


@dataclass(frozen=True)
class Searched:
    """A campaign that is over, and what it took; CPU seconds are those of all processes."""

    state: CampaignState
    domain: BlockDomain
    blocks: int
    wall: float
    cpu: float


@contextmanager
def tool_panel(configured: Sequence[tuple[str, dict[str, str]]]) -> Iterator[Panel]:
    """Tools of these kinds with these options. Raises `MissingDataError` where one is not installed."""
    try:
        with ExitStack() as stack:
            predictors = (KINDS[kind].predictor(options) for kind, options in configured)
            tools = [stack.enter_context(closing(predictor)) for predictor in predictors]
            yield stack.enter_context(closing(Panel(tools)))
    except PredictorError as error:
        raise MissingDataError(str(error)) from error


def _support() -> Result:
    """Seconds to find the schemes that two versions of llvm-mca support."""
    domain = BlockDomain.of(
        schemes=SpaceSettings(groups=" ".join(sorted(set(sampling_groups()) - {"avx512"})))
    )
    with tool_panel((MCA_13, MCA_22)) as panel:
        blocks = dict(zip(domain.space.texts, domain.instances(), strict=True))
        began, cpu = time.monotonic(), cpu_seconds()
        support = find_support(panel, blocks)
        wall, spent = time.monotonic() - began, cpu_seconds() - cpu
    more = {
        "schemes": len(blocks),
        "supported": len(support.supported),
        "cpu_seconds": round(spent, 2),
    }
    return Result("scheme-support-seconds", round(wall, 2), "s", PUBLISHED_SUPPORT, more)


def _rate(case: str, configured: Sequence[tuple[str, dict[str, str]]], minutes: float) -> Result:
    """Blocks per second of a campaign of so many minutes."""
    with tool_panel(configured) as panel:
        searched = _search(panel, minutes, SEEDS[0])
        names = [tool.name for tool in panel.predictors]
    more = {
        "predictors": names,
        "blocks": searched.blocks,
        "cpu_ms_per_block": round(1000 * searched.cpu / searched.blocks, 3),
        "discoveries": len(searched.state.unsubsumed),
        "processors": len(os.sched_getaffinity(0)),
    }
    return Result(case, round(searched.blocks / searched.wall, 1), "blocks/s", PUBLISHED_RATES[case], more)


def _coverage(
    case: str,
    configured: Sequence[tuple[str, dict[str, str]]],
    minutes: float,
    seeds: Sequence[int],
    fresh: int,
) -> Iterator[Result]:
    """Share of the interesting blocks among `fresh` random ones that a campaign's discoveries subsume."""
    shares, top_shares, more = [], [], []
    with tool_panel(configured) as panel:
        for seed in seeds:
            searched = _search(panel, minutes, seed)
            driver = Driver(searched.domain, panel, Disagreement(InterestSettings()))
            judged = judge_blocks(driver, fresh_blocks(searched.domain, fresh))
            found = explained_blocks(searched.domain, searched.state.unsubsumed, judged)
            shares.append(found.share or 0.0)
            top_shares.append(found.top_share or 0.0)
            more.append(
                {
                    "seed": seed,
                    "discoveries": len(searched.state.unsubsumed),
                    "interesting": found.interesting / found.blocks,
                    "share": found.share,
                    "top_ten": found.top_share,
                }
            )
    facts = {"minutes": minutes, "fresh": fresh, "seeds": more}
    published, published_top = PUBLISHED_COVERAGE[case]
    yield Result(case, round(statistics.median(shares), 4), "share", published, facts)
    top = round(statistics.median(top_shares), 4)
    yield Result(f"{case}-top-ten", top, "share", published_top, {"minutes": minutes, "fresh": fresh})


def supported_domain(panel: Panel) -> BlockDomain:
    """Blocks of the schemes that all tools support."""
    everything = BlockDomain.of()
    blocks = dict(zip(everything.space.texts, everything.instances(), strict=True))
    return everything.restricted(find_support(panel, blocks).supported)


def _search(panel: Panel, minutes: float, seed: int) -> Searched:
    """A campaign over the schemes that all tools support; finding those is not counted."""
    domain = supported_domain(panel)
    judged, began, cpu = panel.judged, time.monotonic(), cpu_seconds()
    silent = Silent()
    campaign = CampaignSearch(
        SearchContext(domain, SearchSettings(), seed),
        panel,
        Disagreement(InterestSettings()),
        Termination(minutes=minutes),
        silent,
        silent,
    )
    state = campaign.search()
    return Searched(state, domain, panel.judged - judged, time.monotonic() - began, cpu_seconds() - cpu)
