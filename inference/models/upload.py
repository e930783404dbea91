"""Uploaded files between their preview and their import."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

UNDECIDED = Q(run__isnull=True) | Q(run__state__in=("failed", "cancelled"))
"""Uploads that no import works on; one whose import has failed or was cancelled waits again."""


class Upload(models.Model):
    """A file as it came, kept in the database so that an accepted upload cannot be lost.

    It is deleted when its import has ended well; `run` is the import. `reading` is the run that has read it
    or does so; then `preview` is what it would bring (`inference.features.library.uploads.query`), and
    `parsed` what it says, packed (`inference.formats.import_formats.pack`), null for formats that are read as
    they are stored.
    """

    file_name = models.CharField(max_length=300)
    content = models.BinaryField()
    sha256 = models.CharField(max_length=64)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    run = models.OneToOneField(
        "inference.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="upload"
    )
    reading = models.OneToOneField(
        "inference.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="upload_read"
    )
    preview = models.JSONField(null=True, blank=True)
    parsed = models.BinaryField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.file_name
