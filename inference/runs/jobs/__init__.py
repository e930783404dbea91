"""One file per kind of run: how its description is checked, and how it is done."""
