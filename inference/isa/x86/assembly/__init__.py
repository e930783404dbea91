"""Reads pasted code: compilers' output, listings and hand-written assembly.

text → lines (`source`) → statements (`statements`, `intel`, `att`, `directives`) or a listing
(`listing_kinds`) → instructions (`operands`) → machine code by iced-x86 (`encoding`) → a `program`. No text
is passed to another program, and text outside the grammar is an error with its place.
"""
