"""Who is told when a run ends: the address that its user gave, and the site's own.

The rows are made when the run is submitted, so that nothing has to happen in the transaction that ends it;
workers look for those of ended runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from inference.models import Run, Webhook
from inference.runs.errors import ConfigError, RunStateError
from inference.runs.webhook_address import RIGHT, is_address, masked


@dataclass(frozen=True)
class VisibleWebhook:
    """A webhook for whoever may see its run: of the address the host alone, the rest may be a secret."""

    url: str
    attempts: int
    sent: datetime | None
    error: str


def arrange(run: Run, url: str) -> None:
    """Have this address ("" for none) told when the run ends, and the site's own. Raises `ConfigError`.

    Within the transaction that submits the run.
    """
    wanted = dict.fromkeys(each for each in (url and checked(url), settings.WEBHOOK) if each)
    Webhook.objects.bulk_create(Webhook(run=run, url=each) for each in wanted)


def replace(run: Run, url: str) -> None:
    """Have another address told, or none.

    Raises `ConfigError`, and `RunStateError` for a run that has ended.
    """
    wanted = url and checked(url)
    if run.state in Run.FINAL:
        raise RunStateError(run.name, run.get_state_display(), "given a webhook", "unfinished")
    run.webhooks.exclude(url=settings.WEBHOOK).delete()
    if wanted and wanted != settings.WEBHOOK:
        Webhook.objects.create(run=run, url=wanted)


def told_of(run: Run) -> list[VisibleWebhook]:
    """The webhooks of a run."""
    return [VisibleWebhook(masked(row.url), row.attempts, row.sent, row.error) for row in run.webhooks.all()]


def checked(url: str) -> str:
    """The address; raises `ConfigError` for one that nothing can be sent to.

    Its host is not looked up yet.
    """
    if not is_address(url):
        raise ConfigError(f"webhook: {url[:80]!r} is no address to send to; {RIGHT}")
    return url
