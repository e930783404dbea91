"""What is asked of basic blocks: the blocks, the machine and how they are surrounded."""

from __future__ import annotations

from typing import Any

from django import forms

from inference.core.protocols import Json
from inference.exchange.instruction_sets import X86
from inference.isa.x86.blocks import Block, BlockError, read_blocks
from inference.measuring.blocks import LOOP, MOST_COPIES, MOST_PAGES, START, UNROLLED, BlockOptions
from inference.models import Machine
from inference.runs.jobs.block import MOST_BLOCKS
from inference.views.naming import NOTE_LIMIT

TEXT_LIMIT = 100_000
MODES = ((UNROLLED, "unrolled"), (LOOP, "in a loop"))


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


class BlockForm(forms.Form):
    """The page's form; `blocks` are those that the text has, once it is valid."""

    code = forms.CharField(
        label="Basic blocks",
        max_length=TEXT_LIMIT,
        help_text="Intel syntax or machine code in hexadecimal digits. Paragraphs are blocks of their own; "
        "of a CSV file, each line is one, by its first column.",
        widget=forms.Textarea(
            attrs={"rows": 10, "class": "mono", "spellcheck": "false", "autocapitalize": "off"}
        ),
    )
    machine = forms.ModelChoiceField(queryset=Machine.objects.none(), required=False, empty_label=None)
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

    def __init__(self, data: Any = None, initial: Any = None) -> None:
        super().__init__(data, initial=initial)
        self.blocks: list[Block] = []
        machines = Machine.objects.filter(isa__name=X86).exclude(kind=Machine.Kind.PUBLISHED)
        choice = self.fields["machine"]
        assert isinstance(choice, forms.ModelChoiceField)
        choice.queryset = machines.order_by("-local", "name")
        for field in self:
            if field.help_text:
                field.field.widget.attrs["aria-describedby"] = f"{field.auto_id}_helptext"

    def clean_code(self) -> str:
        """The text, of which the blocks are kept."""
        text: str = self.cleaned_data["code"]
        try:
            self.blocks = read_blocks(text, MOST_BLOCKS)
        except BlockError as error:
            raise forms.ValidationError(f"Nothing was decoded: {error}.") from None
        return text

    def clean(self) -> dict[str, Any]:
        """What must hold between fields."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors:
            for field, problem in self.options(data).problems().items():
                self.add_error(field, f"It {problem}.")
        return data

    def options(self, data: Json | None = None) -> BlockOptions:
        """How the blocks are surrounded, of a valid form."""
        chosen = self.cleaned_data if data is None else data
        return BlockOptions(**{name: chosen[name] for name in BlockOptions.__dataclass_fields__})
