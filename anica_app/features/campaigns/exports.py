"""Exports of a campaign: its archive, its files, and its published page."""

from __future__ import annotations

import io
import tempfile
import zlib
from collections.abc import Iterator, Sequence

from django.db.models import QuerySet
from django.http import FileResponse
from django.utils.text import slugify

from anica_app.features.campaigns.progress import CampaignStatus, campaign_status
from anica_app.features.campaigns.query import discoveries, failures_in_words
from anica_app.features.discoveries.wording import wording_line
from anica_app.features.families.query import FamilyAnswer, answer_of, cycles_of
from anica_app.models import Campaign, CampaignFile, Discovery, Family
from anica_app.storage.campaigns import write_campaign
from inference.features.judging.engine.tables import choice, code, number, table_of, text
from inference.isa.blocks import block_of_bytes, intel_or_digits
from inference.isa.code.block import BlockError
from inference.models import Run
from inference.storage.instruction_sets import code_isa
from inference.web.paging import Order
from inference.web.published_page import PublishedFact, PublishedKind, PublishedPage, PublishedTable

_IN_MEMORY = 8 << 20  # bytes; a larger archive is written to a temporary file
_MAX_DISCOVERIES = 2000


def archive_answer(row: Campaign) -> FileResponse:
    """A campaign with all sampled blocks, as an archive that another installation can import."""
    file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  the answer closes it
    write_campaign(row, file)  # type: ignore[arg-type]
    file.seek(0)
    name = f"{slugify(row.name) or 'campaign'}.zip"
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/zip")


def stored_file_answer(row: CampaignFile) -> FileResponse:
    """A file of a campaign, unchanged."""
    content = io.BytesIO(zlib.decompress(bytes(row.content)))
    name = row.path.rpartition("/")[2]
    return FileResponse(content, as_attachment=True, filename=name, content_type="application/octet-stream")


def publishable() -> QuerySet[Campaign]:
    return Campaign.objects.only("name").order_by("-pk")


def published_page(pk: int) -> PublishedPage:
    """The page of a campaign in its current state. Raises `Campaign.DoesNotExist`."""
    row = Campaign.objects.select_related("isa", "run").get(pk=pk)
    run: Run | None = row.run if row.origin == Campaign.Origin.RUN else None
    status = campaign_status(row, run)
    tools = [tool.name for tool in row.tools]
    isa = "" if row.isa is None else row.isa.name
    answer = answer_of(row)
    return PublishedPage(
        PublishedKind.CAMPAIGN,
        row.name,
        " · ".join(filter(None, (row.get_kind_display(), *tools, isa, f"{row.created:%Y-%m-%d}"))),
        tuple(_facts(status, answer)),
        tuple(_tables(row, status, tools, answer)),
    )


def _facts(status: CampaignStatus, answer: FamilyAnswer | None) -> Iterator[PublishedFact]:
    if answer is not None:
        share = answer.explained
        explained = "" if share is None else f"explain {100 * share:.0f} % of the disagreements"
        yield PublishedFact("families", f"{len(answer.families):,}", explained)
    included = f"{status.included:,} more are included by others" if status.included else ""
    yield PublishedFact("discoveries", f"{status.discoveries:,}", included)
    yield PublishedFact("blocks sampled", f"{status.sampled:,}")
    if status.ratio is not None:
        yield PublishedFact("of them interesting", f"{100 * status.ratio:.1f} %")
    if status.judged is not None:
        yield PublishedFact("blocks judged", f"{status.judged:,}")
    if status.seconds:
        yield PublishedFact("minutes", f"{status.seconds / 60:,.1f}")


def _tables(
    row: Campaign, status: CampaignStatus, tools: list[str], answer: FamilyAnswer | None
) -> Iterator[PublishedTable]:
    families = () if answer is None else answer.families
    if answer is not None and families:
        yield _families(families, tools, answer.sentence, code_isa(row.isa))
    names = {discovery.number: family.name for family in families for discovery in family.discoveries.all()}
    page = discoveries(row, Order("interestingness", descending=True), size=_MAX_DISCOVERIES)
    yield table_of(
        "discoveries",
        "Discoveries",
        page.rows,
        (number("Number"), lambda discovery: discovery.number),
        (text("Blocks that are like this"), lambda discovery: wording_line(discovery) or discovery.label),
        (code("For example"), _example),
        (choice("Kind"), lambda discovery: discovery.kind),
        (number("Interestingness"), lambda discovery: discovery.interestingness),
        (number("Generality"), lambda discovery: discovery.generality),
        (number("Instructions"), lambda discovery: discovery.length),
        (text("Family"), lambda discovery: names.get(discovery.number, "")),
        note="Interestingness: how far the tools disagree, on average. Generality: the least number of "
        "schemes of one of its instructions.",
    )
    if failures := failures_in_words(status.failures, tools):
        yield table_of(
            "failures",
            "Failures",
            failures,
            (text("Predictor"), lambda failure: failure[1]),
            (text("Failure"), lambda failure: failure[0]),
            (number("Blocks"), lambda failure: failure[2]),
        )


def _families(families: Sequence[Family], tools: Sequence[str], sentence: str, isa: str) -> PublishedTable:
    """The table of families, the largest share first, with the campaign's sentence below."""
    return table_of(
        "families",
        "Families",
        families,
        (number("Number", 0), lambda row: row.number),
        (text("Family"), lambda row: row.name),
        (code("For example"), lambda row: "; ".join(intel_or_digits(bytes(row.code), isa))),
        (text("Cycles"), cycles_of),
        (choice("Bound that differs"), lambda row: row.bound),
        (text("Slower"), lambda row: tools[row.slower - 1] if 0 < row.slower <= len(tools) else ""),
        (number("Share in %", 1), lambda row: None if row.share is None else 100 * row.share),
        (choice("Mark"), lambda row: row.get_mark_display() if row.mark else ""),
        (text("Discoveries"), lambda row: ", ".join(str(part.number) for part in row.discoveries.all())),
        note=sentence,
    )


def _example(row: Discovery) -> str:
    try:
        return block_of_bytes(bytes(row.code), code_isa(row.campaign.isa)).text if row.code else ""
    except BlockError:  # of an imported campaign
        return bytes(row.code).hex()
