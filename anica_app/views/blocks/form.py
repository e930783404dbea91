"""What is asked of basic blocks: the blocks, who says something of them, and how machines surround them."""

from __future__ import annotations

from typing import Any

from django import forms

from anica_app.campaigning.offering import Offer, Offers
from anica_app.models import Predictor
from anica_app.predictors import machine
from anica_app.views.choosing import ChoosingForm
from inference.core.protocols import Json
from inference.features.blocks.job import MOST_BLOCKS
from inference.isa.x86.blocks import Block, BlockError, Reading, read
from inference.measuring.blocks import LOOP, MOST_COPIES, MOST_PAGES, START, UNROLLED, BlockOptions
from inference.web.naming import NOTE_LIMIT
from inference.web.presentation import describe_fields

TEXT_LIMIT = 100_000
MODES = ((UNROLLED, "unrolled"), (LOOP, "in a loop"))
SURROUNDINGS = tuple(BlockOptions.__dataclass_fields__)


class AddressField(forms.CharField):
    """A whole number of 64 bits, decimal or hexadecimal with 0x."""

    def to_python(self, value: Any) -> Any:
        """The number."""
        text = str(value or "").strip().replace("_", "")
        try:
            number = int(text, 0)
        except ValueError:
            raise forms.ValidationError("Write a whole number such as 305419776 or 0x12345600.") from None
        if not 0 <= number < 2**64:
            raise forms.ValidationError("The number has to fit into 64 bits: 0 to 0xffffffffffffffff.")
        return number


class BlockForm(ChoosingForm):
    """The page's form; `reading` is what the text has, once it is valid."""

    code = forms.CharField(
        label="Basic blocks",
        max_length=TEXT_LIMIT,
        help_text="Intel or AT&T syntax, what compilers, disassemblers, debuggers and perf print, or machine "
        "code in hexadecimal digits. Code with jumps is cut into loops; other paragraphs are a block each.",
        widget=forms.Textarea(
            attrs={"rows": 10, "class": "mono", "spellcheck": "false", "autocapitalize": "off"}
        ),
    )
    mode = forms.ChoiceField(
        label="Copies",
        choices=MODES,
        initial=UNROLLED,
        help_text="Unrolled, registers and memory begin anew before each row of copies, and the difference "
        "between two lengths counts. A loop goes on from where it was.",
    )
    copies = forms.IntegerField(
        label="Number of copies",
        min_value=0,
        max_value=MOST_COPIES,
        initial=0,
        help_text="0: as many as make about 200 instructions, 100 in a loop.",
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
    pages = forms.IntegerField(
        label="Pages of memory",
        min_value=1,
        max_value=MOST_PAGES,
        initial=BlockOptions.pages,
        help_text="That a block may touch. All are one page of physical memory, as in BHive's harness.",
    )
    name = forms.CharField(
        max_length=200, required=False, help_text="Of the run; left empty, one is made up."
    )
    note = forms.CharField(max_length=NOTE_LIMIT, required=False, widget=forms.Textarea(attrs={"rows": 2}))

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
        self.reading = Reading(())
        self._asking = asking
        self._piece = piece
        if "predictors" not in self.initial:
            self.initial["predictors"] = [one.text for one in self.offers.all if one.usual]
        describe_fields(self)

    def clean_code(self) -> str:
        """The text, of which the blocks are kept."""
        text: str = self.cleaned_data["code"]
        try:
            self.reading = read(text, MOST_BLOCKS)
        except BlockError as error:
            raise forms.ValidationError(f"Nothing was decoded: {error}.") from None
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
                self.add_error("predictors", "Choose at least one.")

    def options(self) -> BlockOptions:
        """How machines surround the blocks."""
        return BlockOptions(**{name: self.cleaned_data[name] for name in SURROUNDINGS})

    @property
    def around(self) -> list[forms.BoundField]:
        """The fields that say how machines surround a block."""
        return [self[name] for name in SURROUNDINGS]

    @property
    def changed(self) -> Json:
        """The options of machines that are not as usual."""
        usual = BlockOptions().as_json()
        return {name: value for name, value in self.options().as_json().items() if value != usual[name]}

    @property
    def surrounded(self) -> bool:
        """Whether any option of machines that the form shows is not as usual, or wrong."""
        shown = {name: str(self[name].value()) for name in SURROUNDINGS}
        usual = {name: str(self.fields[name].initial) for name in SURROUNDINGS}
        return shown != usual

    @property
    def machines(self) -> list[Predictor]:
        """Those that were chosen."""
        return [row for row in self.rows if row.kind == machine.KIND]

    def text_of(self, offer: Offer) -> str:
        """A machine that goes by its name is asked with the options of the form."""
        if not offer.text.startswith(f"{machine.KIND}:"):
            return offer.text
        return ",".join([offer.text, *(f"{name}={value}" for name, value in self.changed.items())])
