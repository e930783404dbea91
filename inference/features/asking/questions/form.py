"""Forms of block queries: the predictors, the code, and the harness that machines put around each block."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms

from inference.core.protocols import Json
from inference.features.asking.blocks.events import MAX_BLOCKS
from inference.features.asking.predictors.kinds import reason_against
from inference.features.asking.predictors.modes import mode_field
from inference.features.asking.predictors.offers import Offer, Offers, offers
from inference.features.asking.predictors.query import available_on, predictor_row, processor_field
from inference.features.asking.questions.request import AskConfig
from inference.isa.blocks import DETECTED
from inference.isa.code.block import Block, BlockError
from inference.isa.code.pasted_blocks import BlocksOfText
from inference.isa.start_values import START
from inference.isa.targets import names_with_blocks
from inference.measuring.blocks import BlockOptions
from inference.models import Predictor
from inference.predictors import machine
from inference.predictors.protocol import PredictorError
from inference.runs.request import RunRequest
from inference.web.code_reading import read
from inference.web.request_fields import RequestField, RequestForm, RunForm, describe_fields

_OFFER_LIMIT = 300
"""Characters of an offer's text that an error message repeats."""


class OffersField(forms.MultipleChoiceField):
    """A choice of offers; the error names a mapping or machine that cannot take blocks, and why."""

    widget = forms.CheckboxSelectMultiple

    def validate(self, value: Any) -> None:
        stranger = next((text for text in value if not self.valid_value(text)), "")
        if stranger and (reason := reason_against(stranger[:_OFFER_LIMIT])):
            raise forms.ValidationError(f"{reason}.")
        super().validate(value)


class ChoosingForm(RequestForm):
    """A choice among the predictors available here; `rows` are the chosen ones once the form is valid.

    Only offers can be chosen: a predictor can be any program, which only administrators add.
    """

    request: ClassVar[type[RunRequest]] = AskConfig
    predictors = OffersField(required=False)
    anew = RequestField(label="Ignore cached results", help_text="Predict again even if an answer is cached.")

    def __init__(self, data: Any = None, initial: Any = None, offered: Offers | None = None) -> None:
        """`offered`: the offers, where they have been computed already."""
        super().__init__(data, initial=initial)
        self.offers = offers() if offered is None else offered
        self.rows: list[Predictor] = []
        self.set_choices(predictors=[(offer.text, offer.label) for offer in self.offers.all])

    def selected_texts(self) -> set[str]:
        return set(self["predictors"].value() or ())

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        self.choose_rows(data)
        return data

    def choose_rows(self, data: dict[str, Any]) -> None:
        """Fill `rows`: the stored predictors of the selected offers, created where there are none."""
        selected = set(data.get("predictors", ()))
        for offer in self.offers.all:
            if offer.text in selected and self.takes(offer):
                self._choose_row(offer)

    def takes(self, offer: Offer) -> bool:
        """Whether the offer can answer for what is asked; else why not is noted."""
        del offer
        return True

    def text_of(self, offer: Offer) -> str:
        """The text by which `inference.features.asking.predictors.query.predictor_row` finds the offer."""
        return offer.text

    def _choose_row(self, offer: Offer) -> None:
        try:
            self.rows.append(predictor_row(self.text_of(offer)))
        except PredictorError as error:
            self.add_error("predictors", f"{offer.label}: {error}")


class ProcessorForm(ChoosingForm):
    """As `ChoosingForm`, with one processor for all tools; `left_out` has why a tool cannot predict for
    it."""

    processor = processor_field()

    def __init__(self, data: Any = None, initial: Any = None, offered: Offers | None = None) -> None:
        super().__init__(data, initial, offered)
        self.left_out: list[str] = []

    def _choose_row(self, offer: Offer) -> None:
        before = len(self.rows)
        super()._choose_row(offer)
        if not offer.fixed:
            processor = self.cleaned_data.get("processor", "")
            available, exclusions = available_on(self.rows[before:], processor, self.isa_of_blocks())
            self.rows[before:] = available
            self.left_out += exclusions

    def isa_of_blocks(self) -> str:
        """The instruction set of the blocks that are asked about; "" where there are none."""
        return ""


TEXT_LIMIT = 100_000
HARNESS_FIELDS = tuple(BlockOptions.__dataclass_fields__)


class AddressField(forms.CharField):
    """A whole number of 64 bits, decimal or hexadecimal with 0x."""

    def to_python(self, value: Any) -> Any:
        text = str(value or "").strip().replace("_", "")
        try:
            number = int(text, 0)
        except ValueError:
            raise forms.ValidationError("Write a whole number such as 305419776 or 0x12345600.") from None
        if not 0 <= number < 2**64:
            raise forms.ValidationError("The number has to fit into 64 bits: 0 to 0xffffffffffffffff.")
        return number


class BlockForm(RunForm, ProcessorForm):
    """The form of the page of basic blocks; `reading` has the decoded blocks once the form is valid."""

    isa = forms.ChoiceField(
        choices=lambda: [(DETECTED, "as the code shows"), *((name, name) for name in names_with_blocks())],
        required=False,
        label="Instruction set",
        help_text="Of machine code in digits alone, x86-64 is assumed.",
    )
    code = forms.CharField(
        label="Basic blocks",
        max_length=TEXT_LIMIT,
        help_text="Assembly of x86-64, AArch64 or RISC-V; output of compilers, disassemblers, debuggers and "
        "perf; or machine code in hexadecimal digits. Code with jumps is cut into loops. Every other "
        "paragraph is a block.",
        widget=forms.Textarea(
            attrs={"rows": 10, "class": "mono", "spellcheck": "false", "autocapitalize": "off"}
        ),
    )
    mode = mode_field()
    copies = RequestField(
        of=BlockOptions,
        alone=False,  # in a loop, one will do: `choose_rows` checks all options together
        label="Number of copies",
        help_text="0: for about 1,600 instructions (100 in a loop), more if a block stores often.",
        required=True,
    )
    registers = AddressField(
        label="Registers start with",
        initial=f"{START:#x}",
        help_text="All general-purpose registers, as a valid address: what they point to is mapped.",
    )
    memory = AddressField(
        label="Memory starts with",
        initial=f"{START:#x}",
        help_text="Every eight bytes of it, so that loaded pointers are valid, too.",
    )
    pages = RequestField(
        of=BlockOptions,
        label="Pages of memory",
        help_text="That a block may touch. All are one page of physical memory, as in BHive's harness.",
        required=True,
    )

    def __init__(
        self,
        data: Any = None,
        initial: Any = None,
        offered: Offers | None = None,
        *,
        needs_predictors: bool = False,
        piece: int | None = None,
    ) -> None:
        """`needs_predictors`: one has to be chosen. `piece`: ask about this piece alone, counted from 1."""
        super().__init__(data, initial, offered)
        self.reading = BlocksOfText(())
        self._needs_predictors = needs_predictors
        self._piece = piece
        if "predictors" not in self.initial:
            self.initial["predictors"] = [offer.text for offer in self.offers.all if offer.usual]
        describe_fields(self)

    def clean_code(self) -> str:
        """Decode the text into `reading`."""
        text: str = self.cleaned_data["code"]
        try:
            self.reading = read(text, MAX_BLOCKS, self.cleaned_data.get("isa") or DETECTED)
        except BlockError as error:
            raise forms.ValidationError(f"The code was not decoded: {error}.") from None
        if self._needs_predictors and self._piece is None and (dropped := self.reading.dropped):
            raise forms.ValidationError(
                f"{dropped[0]}. Correct or remove that line, or decode and predict one piece."
            )
        count = len(self.reading.pieces)
        if self._piece is not None and not 1 <= self._piece <= count:
            raise forms.ValidationError(f"There is no piece {self._piece} any more: decode the text again.")
        return text

    @property
    def blocks(self) -> list[Block]:
        """The blocks to predict: that of the chosen piece, else all."""
        blocks = [piece.block for piece in self.reading.pieces]
        return blocks if self._piece is None else blocks[self._piece - 1 : self._piece]

    def choose_rows(self, data: dict[str, Any]) -> None:
        """Choose predictors only where they are needed and the other fields are valid: each choice stores a
        row."""
        if not self.errors:
            for field, problem in self.block_options().problems().items():
                self.add_error(field, f"It {problem}.")
        if self._needs_predictors and not self.errors:
            super().choose_rows(data)
            if not self.rows and not self.errors:
                self.add_error("predictors", "; ".join(self.left_out) or "Choose at least one.")

    def takes(self, offer: Offer) -> bool:
        isa = self.blocks[0].isa
        if isa not in offer.isas:
            self.left_out.append(f"{offer.label} does not answer for {isa}")
        return isa in offer.isas

    def isa_of_blocks(self) -> str:
        return self.blocks[0].isa if self.blocks else ""

    def block_options(self) -> BlockOptions:
        options = {name: self.cleaned_data[name] for name in HARNESS_FIELDS}
        return BlockOptions(**{**options, "mode": options["mode"] or BlockOptions.mode})

    @property
    def harness_fields(self) -> list[forms.BoundField]:
        """The fields of the harness, without the mode, which counts for every predictor."""
        return [self[name] for name in HARNESS_FIELDS if name != "mode"]

    @property
    def changed_options(self) -> Json:
        """The options of the harness that differ from the defaults."""
        usual = BlockOptions().as_json()
        return {name: value for name, value in self.block_options().as_json().items() if value != usual[name]}

    @property
    def has_harness_changes(self) -> bool:
        """Whether any option of the harness differs from its default or is invalid."""
        return any(str(field.value()) != str(field.field.initial) for field in self.harness_fields)

    @property
    def machines(self) -> list[Predictor]:
        return [row for row in self.rows if row.kind == machine.KIND]

    def text_of(self, offer: Offer) -> str:
        """The offer's text; for a machine by name, with the changed options of the harness."""
        if not offer.text.startswith(f"{machine.KIND}:"):
            return offer.text
        return ",".join([offer.text, *(f"{name}={value}" for name, value in self.changed_options.items())])
