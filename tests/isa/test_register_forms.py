"""Which scheme is another with memory in place of a register."""

from __future__ import annotations

from inference.isa.domains import forms_among


def test_memory_forms_are_found_in_any_style() -> None:
    ours = [
        "add GPR[64]:RW, GPR[64]:R",
        "add GPR[64]:RW, MEM[64]:R",
        "add MEM[64]:RW, GPR[64]:R",
        "mov GPR[64]:W, MEM[64]:R",
    ]
    assert forms_among(ours) == {ours[1]: (ours[0], "r"), ours[2]: (ours[0], "rw")}
    register = "ADD_((REG:RW:G:64)),_((IMM:8))"
    memory = "ADD_dword_ptr_[((MEM:64))_+_((MIMM:16))],_((IMM:8))"
    assert forms_among([register, memory]) == {memory: (register, "rw")}


def test_what_has_no_register_form_is_left_out() -> None:
    assert forms_among(["xchg GPR[64]:RW, GPR[64]:RW", "xchg MEM[64]:RW, GPR[64]:RW", "nop"]) == {}
