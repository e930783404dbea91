"""Instruction set architectures and their instruction schemes."""

from __future__ import annotations

from django.db import models

from inference.models.named import Named


class ISA(Named):
    """An instruction set: `x86-64` or one that came with an import. `source`: where its schemes are from."""

    source = models.CharField(max_length=200, blank=True)

    class Meta:
        verbose_name = "ISA"
        ordering = ["name"]


class InstructionScheme(models.Model):
    """An instruction with typed holes for its operands, e.g. `add GPR[64]:RW, GPR[64]:R`.

    `exclusion` is the reason why the scheme is not in the default inference set, empty when it is in it.
    `operands` lists one object per operand, the implicit ones last, as `inference.isa.scheme` describes them.
    """

    class Memory(models.TextChoices):
        NONE = "", "none"
        READ = "R", "read"
        WRITE = "W", "write"
        READ_WRITE = "RW", "read and written"
        ADDRESS = "A", "address only"

    isa = models.ForeignKey(ISA, on_delete=models.CASCADE, related_name="schemes")
    text = models.CharField(max_length=200)
    mnemonic = models.CharField(max_length=60, db_index=True)
    extension = models.CharField(max_length=60, blank=True)
    category = models.CharField(max_length=60, blank=True)
    encoding = models.CharField(max_length=10, blank=True)
    memory = models.CharField(max_length=2, choices=Memory.choices, blank=True)
    width = models.PositiveSmallIntegerField(
        default=0, help_text="widest operand in bits, 0 where there is none"
    )
    operands = models.JSONField(default=list, blank=True)
    exclusion = models.CharField(max_length=200, blank=True)
    starter = models.BooleanField(default=False)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["isa", "text"], name="scheme_text_once_per_isa")]
        indexes = [
            models.Index(fields=["isa", "extension"], name="scheme_by_extension"),
            models.Index(fields=["isa", "category"], name="scheme_by_category"),
            models.Index(fields=["isa", "exclusion"], name="scheme_by_exclusion"),
        ]

    def __str__(self) -> str:
        return self.text
