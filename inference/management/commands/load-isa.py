"""`manage.py load-isa`: the x86-64 instruction schemes, made or brought up to date."""

from __future__ import annotations

from typing import Any

from inference.exchange.instruction_sets import load_x86
from inference.management.data_command import DataCommand


class Command(DataCommand):
    """The instruction set in the shell; see the module."""

    help = "Load the x86-64 instruction set, or bring it up to date; does nothing where it is."
    requires_system_checks = ()  # they would load every page of the site first

    def handle(self, *args: Any, **options: Any) -> None:
        """Load the instruction set."""
        isa, changed = load_x86()
        state = f"{isa.schemes.count()} schemes loaded" if changed else "already up to date"
        self.stdout.write(f"{isa.name}: {state} ({isa.source})")
