"""The forms of questions about basic blocks: who is asked, which blocks, and how machines surround them."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms

from inference.core.protocols import Json
from inference.features.asking.blocks.query import MOST_BLOCKS
from inference.features.asking.predictors.kinds import reason_against
from inference.features.asking.predictors.modes import mode_field
from inference.features.asking.predictors.offers import OfferedPredictor, Offers, offers
from inference.features.asking.predictors.query import chosen, known_on, processor_field
from inference.features.asking.questions.request import AskConfig
from inference.isa.blocks import Block, BlockError, BlocksOfText, isa_beside, read
from inference.isa.start_values import START
from inference.isa.targets import DEFAULT, names_with_blocks
from inference.measuring.blocks import BlockOptions
from inference.models import Predictor
from inference.predictors import machine
from inference.predictors.protocol import PredictorError
from inference.runs.request import RunRequest
from inference.web.request_fields import RequestField, RequestForm, RunForm, describe_fields

_LONGEST = 300
"""Characters of the text of an offer."""


class OffersField(forms.MultipleChoiceField):
    """Some of the offers; of a mapping or machine without blocks it says so."""

    widget = forms.CheckboxSelectMultiple

    def validate(self, value: Any) -> None:
        stranger = next((text for text in value if not self.valid_value(text)), "")
        if stranger and (reason := reason_against(stranger[:_LONGEST])):
            raise forms.ValidationError(f"{reason}.")
        super().validate(value)


class ChoosingForm(RequestForm):
    """Which of the predictors that can be asked here; `rows` are those of a valid form.

    Nothing else can be named: a predictor can be any program, which only administrators add.
    """

    request: ClassVar[type[RunRequest]] = AskConfig
    predictors = OffersField(required=False)
    anew = RequestField(label="Ignore cached results", help_text="Predict again even if an answer is cached.")

    def __init__(self, data: Any = None, initial: Any = None, known: Offers | None = None) -> None:
        """`known`: the offers, where they have been found out already."""
        super().__init__(data, initial=initial)
        self.offers = offers() if known is None else known
        self.rows: list[Predictor] = []
        self.set_choices(predictors=[(one.text, one.label) for one in self.offers.all])

    def ticked(self) -> set[str]:
        """The texts of the offers whose boxes are ticked."""
        return set(self["predictors"].value() or ())

    def clean(self) -> dict[str, Any]:
        """What must hold between fields."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        self.take(data)
        return data

    def take(self, data: dict[str, Any]) -> None:
        """Find or make the rows of what was chosen."""
        wanted = set(data.get("predictors", ()))
        for offer in self.offers.all:
            if offer.text in wanted:
                self._take(offer)

    def text_of(self, offer: OfferedPredictor) -> str:
        """What `inference.features.asking.predictors.query.chosen` is told of an offer that was chosen."""
        return offer.text

    def _take(self, offer: OfferedPredictor) -> None:
        try:
            self.rows.append(chosen(self.text_of(offer)))
        except PredictorError as error:
            self.add_error("predictors", f"{offer.label}: {error}")


class ProcessorForm(ChoosingForm):
    """Whoever can be asked, tools for one processor; `left_out` gets why one cannot be asked about it."""

    processor = processor_field()

    def __init__(self, data: Any = None, initial: Any = None, known: Offers | None = None) -> None:
        super().__init__(data, initial, known)
        self.left_out: list[str] = []

    def _take(self, offer: OfferedPredictor) -> None:
        before = len(self.rows)
        super()._take(offer)
        if not offer.fixed:
            processor = self.cleaned_data.get("processor", "")
            self.rows[before:], left_out = known_on(self.rows[before:], processor)
            self.left_out += left_out


TEXT_LIMIT = 100_000
SURROUNDINGS = tuple(BlockOptions.__dataclass_fields__)


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
    """The page's form; `reading` is what the text has, once it is valid."""

    isa = forms.ChoiceField(
        choices=lambda: [(name, name) for name in names_with_blocks()],
        initial=DEFAULT,
        required=False,
        widget=forms.HiddenInput,
    )
    code = forms.CharField(
        label="Basic blocks",
        max_length=TEXT_LIMIT,
        help_text="Intel or AT&T syntax, what compilers, disassemblers, debuggers and perf print, or machine "
        "code in hexadecimal digits. Code with jumps is cut into loops; other paragraphs are a block each.",
        widget=forms.Textarea(
            attrs={"rows": 10, "class": "mono", "spellcheck": "false", "autocapitalize": "off"}
        ),
    )
    mode = mode_field()
    copies = RequestField(
        of=BlockOptions,
        alone=False,  # in a loop, one will do: `take` checks all options together
        label="Number of copies",
        help_text="0: as many as make about 800 instructions and 512 stores; in a loop 100 instructions.",
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
        known: Offers | None = None,
        *,
        asking: bool = False,
        piece: int | None = None,
    ) -> None:
        """`asking`: the predictors are wanted, too. `piece`: the number, from 1, of the one that is asked."""
        super().__init__(data, initial, known)
        self.reading = BlocksOfText(())
        self._asking = asking
        self._piece = piece
        if "predictors" not in self.initial:
            self.initial["predictors"] = [one.text for one in self.offers.all if one.usual]
        describe_fields(self)

    def clean_code(self) -> str:
        """The text, of which the blocks are kept."""
        text: str = self.cleaned_data["code"]
        try:
            self.reading = read(text, MOST_BLOCKS, isa_beside(self.cleaned_data))
        except BlockError as error:
            raise forms.ValidationError(f"Nothing was decoded: {error}.") from None
        if self._asking and self._piece is None and (dropped := self.reading.dropped):
            raise forms.ValidationError(
                f"Not asked: {dropped[0]}. Correct or remove that line, or decode and ask about one piece."
            )
        count = len(self.reading.pieces)
        if self._piece is not None and not 1 <= self._piece <= count:
            raise forms.ValidationError(f"There is no piece {self._piece} any more: decode the text again.")
        return text

    @property
    def blocks(self) -> list[Block]:
        """Those that are asked about: the piece that was chosen, else all."""
        blocks = [piece.block for piece in self.reading.pieces]
        return blocks if self._piece is None else blocks[self._piece - 1 : self._piece]

    def take(self, data: dict[str, Any]) -> None:
        """Predictors are looked for where all else is right and somebody asks."""
        if not self.errors:
            for field, problem in self.options().problems().items():
                self.add_error(field, f"It {problem}.")
        if self._asking and not self.errors:
            super().take(data)
            if not self.rows and not self.errors:
                self.add_error("predictors", "; ".join(self.left_out) or "Choose at least one.")

    def options(self) -> BlockOptions:
        """How machines surround the blocks."""
        options = {name: self.cleaned_data[name] for name in SURROUNDINGS}
        return BlockOptions(**{**options, "mode": options["mode"] or BlockOptions.mode})

    @property
    def around(self) -> list[forms.BoundField]:
        """The fields that say how machines surround a block, beside the mode that all are asked in."""
        return [self[name] for name in SURROUNDINGS if name != "mode"]

    @property
    def changed(self) -> Json:
        """The options of machines that are not as usual."""
        usual = BlockOptions().as_json()
        return {name: value for name, value in self.options().as_json().items() if value != usual[name]}

    @property
    def surrounded(self) -> bool:
        """Whether any option of machines that the form shows is not as usual, or wrong."""
        return any(str(field.value()) != str(field.field.initial) for field in self.around)

    @property
    def machines(self) -> list[Predictor]:
        return [row for row in self.rows if row.kind == machine.KIND]

    def text_of(self, offer: OfferedPredictor) -> str:
        """A machine that goes by its name is asked with the options of the form."""
        if not offer.text.startswith(f"{machine.KIND}:"):
            return offer.text
        return ",".join([offer.text, *(f"{name}={value}" for name, value in self.changed.items())])
