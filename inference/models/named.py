"""The abstract base of models that users name."""

from __future__ import annotations

from django.db import models


class Named(models.Model):
    """A unique name that commands and URLs use, and free notes."""

    name = models.CharField(max_length=200, unique=True)
    note = models.TextField(blank=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name
