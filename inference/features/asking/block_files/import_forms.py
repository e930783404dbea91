"""Forms about uploads: what becomes of one, and how the rows and numbers of blocks are to be understood."""

from __future__ import annotations

from typing import Any

from django import forms

from inference.core.protocols import Json
from inference.features.asking.block_files.reading import WIDEST
from inference.features.asking.block_files.request import FOUND_OUT, BlockImportConfig
from inference.formats.blocks_csv import WORDS, Broken, Scale
from inference.formats.problems import ExchangeError
from inference.isa.targets import names_with_blocks
from inference.models import BasicBlockSet, PortMapping
from inference.models.named import Named
from inference.storage.names import NAME_LIMIT, free_or_refuse
from inference.web.request_fields import RequestField, RequestForm, note_field


class BlockImportForm(RequestForm):
    """What becomes of a file: a row of `model` with this name."""

    request = BlockImportConfig
    name = forms.CharField(max_length=NAME_LIMIT, help_text="Commands and other pages find it by this name.")
    note = note_field()

    model: type[Named] = BasicBlockSet

    def clean_name(self) -> str:
        """Refuse a name in use."""
        try:
            free_or_refuse(self.model, self.cleaned_data["name"])
        except ExchangeError as error:
            raise forms.ValidationError(str(error)) from error
        return str(self.cleaned_data["name"])


class BlocksForm(BlockImportForm):
    """What becomes of a file with blocks, and how its rows and numbers are to be understood."""

    broken = RequestField(
        {
            Broken.STOP.value: "stop at the first one and store nothing",
            Broken.SKIP.value: "leave them out and report them",
        },
        of=BlockImportConfig,
        label="Rows that cannot be read",
        widget=forms.RadioSelect,
        required=True,
    )
    issue_width = RequestField(
        of=BlockImportConfig,
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

    def __init__(self, seen: Json, initial: Json, data: Any = None) -> None:
        super().__init__(data, initial=initial)
        rows = PortMapping.objects.filter(isa__name__in=names_with_blocks()).defer("report").order_by("name")
        self.set_choices(bounds=rows)
        self.columns: list[Json] = seen["columns"]
        self.usual = [Scale(one) for one in seen["usual"]]
        said = initial.get("numbers") or FOUND_OUT
        each = said if isinstance(said, list) else [said] * len(self.columns)
        for number, (column, usual, before) in enumerate(zip(self.columns, self.usual, each, strict=False)):
            how = "as detected" if column["looks"] == usual else "as they are"
            self.fields[f"numbers_{number}"] = forms.ChoiceField(
                required=False,
                label=f"The numbers of {column['name']} are",
                initial=before,
                choices=[
                    (FOUND_OUT, f"{how}: {WORDS[usual]}"),
                    *((scale.value, text) for scale, text in WORDS.items()),
                ],
                widget=forms.Select(attrs={"aria-label": f"The numbers of {column['name']} are"}),
            )

    @property
    def common(self) -> list[forms.BoundField]:
        """The fields that are not of a column."""
        return [field for field in self.visible_fields() if not field.name.startswith("numbers_")]

    @property
    def of_columns(self) -> list[tuple[Json, str, forms.BoundField]]:
        """Each column with what its numbers look like, in words, and its field."""
        return [
            (column, WORDS[Scale(column["looks"])], self[f"numbers_{number}"])
            for number, column in enumerate(self.columns)
        ]

    def clean(self) -> Json:
        """Refuse two columns of weights."""
        data: Json = super().clean() or self.cleaned_data
        said = [data.pop(f"numbers_{number}", "") for number in range(len(self.columns))]
        meant = [Scale(one) if one else usual for one, usual in zip(said, self.usual, strict=True)]
        if meant.count(Scale.WEIGHT) > 1:
            raise forms.ValidationError("One column at most can say how often a block ran.")
        data["numbers"] = said if any(said) else FOUND_OUT
        if data.get("bounds"):
            data["bounds"] = data["bounds"].name
        return data
