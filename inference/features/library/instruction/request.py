"""The request of an instruction card, by page, API and shell."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from inference.isa.targets import DEFAULT

_KEY = r"(?:[mpc][0-9]{1,18}|r-[a-z0-9-]{1,40})"


class InstructionRequest(BaseModel):
    """A mnemonic of an instruction set, and the CPUs of the card."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=True)

    mnemonic: str = Field(min_length=1, max_length=60, examples=["imul"])
    isa: str = Field(DEFAULT, max_length=200, description="Name of the instruction set.", examples=[DEFAULT])
    cpus: str = Field(
        "",
        pattern=f"^({_KEY}(,{_KEY}){{0,7}})?$",
        description="Keys of up to 8 CPUs, separated by commas: m with the id of a machine, p with "
        "that of an imported port mapping, c with that of an imported core model, r- with the name of a "
        "recorded core. By default the first 8, this computer first.",
        examples=[""],
    )

    forms: str = Field(
        "",
        max_length=100,
        description="Only forms with these operands, as a search abbreviates them, such as r64 or xmm, m128; "
        "empty: all.",
        examples=["r64"],
    )

    @property
    def operands(self) -> tuple[str, ...]:
        """The operands of the forms, one word each."""
        return tuple(self.forms.replace(",", " ").split())

    @property
    def chosen(self) -> tuple[str, ...]:
        """The distinct keys in order."""
        return tuple(dict.fromkeys(filter(None, self.cpus.split(","))))
