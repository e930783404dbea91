"""The blocks of a round with every tool's answer."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path

from anica_app.models import SampleBatch
from anica_app.queries.generalisations import BY_BLOCK, BY_LENGTH, sample_page, samples_of_batch
from anica_app.queries.judging import judge_of
from inference.web.paging import Order
from inference.web.requests import whole_number


def campaign_round(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    """A page of the blocks, sorted by a tool or as they were sampled."""
    batch = get_object_or_404(SampleBatch.objects.select_related("campaign"), campaign=pk, number=number)
    tools = [seat.predictor for seat in batch.campaign.seats.select_related("predictor")]
    columns = {name: name for name in (BY_BLOCK, BY_LENGTH, *(str(at) for at in range(1, len(tools) + 1)))}
    order = Order.read(request.GET.get("sort", ""), columns, BY_BLOCK)
    at = whole_number(request, "page", 0) or 0
    page = sample_page(samples_of_batch(batch), order.column, descending=order.descending, number=at)
    judge = judge_of(batch.campaign)
    rows = [(sample, None if judge is None else judge.verdict(sample.answers)) for sample in page.rows]
    context = {
        "campaign": batch.campaign,
        "batch": batch,
        "tools": [(str(at), tool) for at, tool in enumerate(tools, start=1)],
        "page": page,
        "rows": rows,
        "sort": str(order),
    }
    return render(request, "anica/campaign_round.html", context)


urlpatterns = [path("campaigns/<int:pk>/rounds/<int:number>/", campaign_round, name="campaign-round")]
