"""How an uploaded file with basic blocks shall be read: the form, and what the file's beginning tells."""

from __future__ import annotations

import io
from typing import Any

from django import forms

from anica_app.campaigning.importing import FOUND_OUT, reading_of
from anica_app.exchange.block_doubts import Bounds
from anica_app.exchange.block_sets import ColumnFacts, Look, Reading, look
from anica_app.exchange.blocks_csv import WORDS, Broken, Scale
from anica_app.models import BasicBlockSet
from anica_app.views.naming_form import ImportForm
from inference.core.protocols import Json
from inference.models import PortMapping
from inference.storage.instruction_sets import X86

SEEN = 1 << 19
"""Bytes of a file with blocks that its preview looks at; the import reads all of it."""

WIDEST = 8.0
"""Instructions per cycle that hardly any processor exceeds: what answers are held against unless told."""


def beginning_of(content: bytes, file_name: str, reading: Reading | None = None) -> tuple[Look, bool]:
    """What the first rows of a file tell, and whether these are all.

    Without a reading, broken rows are passed over, and answers held against `WIDEST`.
    """
    end = len(content) if len(content) <= SEEN else content.rfind(b"\n", 0, SEEN) + 1
    usual = Reading(Broken.SKIP, bounds=Bounds(WIDEST))
    return look(io.BytesIO(content[: end or SEEN]), file_name, reading or usual), end == len(content)


class BlocksForm(ImportForm):
    """What becomes of a file with blocks, and how its rows and numbers are to be understood."""

    model = BasicBlockSet

    broken = forms.ChoiceField(
        label="Rows that cannot be read",
        choices=[
            (Broken.STOP.value, "stop at the first one, and store nothing"),
            (Broken.SKIP.value, "leave them out and report them"),
        ],
        widget=forms.RadioSelect,
        initial=Broken.STOP.value,
    )
    issue_width = forms.FloatField(
        required=False,
        min_value=0.01,
        max_value=1000,
        initial=WIDEST,
        label="Instructions per cycle",
        help_text="As many as the processor can start: 4 to 8 on today’s. Answers below what this allows are "
        "pointed at.",
    )
    bounds = forms.ModelChoiceField(
        PortMapping.objects.none(),
        required=False,
        to_field_name="name",
        label="Port mapping",
        empty_label="none",
        help_text="Answers below the cycles that its ports need are pointed at as well.",
    )

    def __init__(self, columns: tuple[ColumnFacts, ...], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        rows = PortMapping.objects.filter(isa__name=X86).defer("report").order_by("name")
        self.fields["bounds"].queryset = rows  # type: ignore[attr-defined]
        self.columns = columns  # whoever reads the file again puts in what it found
        for number, column in enumerate(columns):
            how = "as they look" if column.looks is column.scale else "as they are"
            usual = f"{how}: {WORDS[column.scale]}"
            self.fields[f"numbers_{number}"] = forms.ChoiceField(
                required=False,
                label=f"The numbers of {column.name} are",
                choices=[(FOUND_OUT, usual), *((scale.value, text) for scale, text in WORDS.items())],
                widget=forms.Select(attrs={"aria-label": f"The numbers of {column.name} are"}),
            )

    @property
    def common(self) -> list[forms.BoundField]:
        """The fields that are not of a column."""
        return [field for field in self.visible_fields() if not field.name.startswith("numbers_")]

    @property
    def of_columns(self) -> list[tuple[ColumnFacts, forms.BoundField]]:
        """Each column with its field."""
        return [(column, self[f"numbers_{number}"]) for number, column in enumerate(self.columns)]

    def clean(self) -> Json:
        """Refuse two columns of weights."""
        data: Json = super().clean() or self.cleaned_data
        said = [data.pop(f"numbers_{number}", "") for number in range(len(self.columns))]
        meant = [Scale(one) if one else column.scale for one, column in zip(said, self.columns, strict=True)]
        if meant.count(Scale.WEIGHT) > 1:
            raise forms.ValidationError("One column at most can say how often a block ran.")
        data["numbers"] = said if any(said) else FOUND_OUT
        if data.get("bounds"):
            data["bounds"] = data["bounds"].name
        return data

    def reading(self) -> Reading:
        """As a valid form has it, broken rows passed over. Raises `ExchangeError`."""
        return reading_of({**self.cleaned_data, "broken": Broken.SKIP})
