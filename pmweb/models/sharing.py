"""Links that show one thing to whoever has them."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class SharedLink(models.Model):
    """A link that shows a published page to anybody, and nothing else. Only its token's hash is kept.

    `item`: what it shows, "mapping:7"; `title` and `text` are shown with it. It shows nothing after its end,
    when it is revoked, and when whoever made it may make no more. `uses` are counted, `last_used` is to the
    minute.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="shared_links")
    item = models.CharField(max_length=40)
    title = models.CharField(max_length=120, blank=True)
    text = models.TextField(blank=True)
    token_hash = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()
    revoked = models.DateTimeField(null=True, blank=True)
    last_used = models.DateTimeField(null=True, blank=True)
    uses = models.PositiveBigIntegerField(default=0, help_text="pages shown, without data and pictures")

    class Meta:
        ordering = ["-id"]
