"""The x86-64 instruction schemes, generated from the opcode tables of iced-x86."""

from __future__ import annotations

from inference.isa.x86.scheme_set import SOURCE, forms_by_text, schemes

__all__ = ["SOURCE", "forms_by_text", "schemes"]
