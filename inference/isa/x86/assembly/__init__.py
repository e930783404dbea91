"""Reading code that people paste: compilers' output, listings and hand-written assembly.

text → lines (`source`) → statements (`statements`, `intel`, `att`, `directives`) or a listing (`listings`) →
instructions as written (`operands`) → machine code by iced-x86 (`encoding`) → a `program`. Nothing of a text
reaches another program, and what the grammar does not know is an error with its place.
"""
