"""The scripts of `.ci/` as modules, whose functions tests call."""

from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[1] / ".ci"


def check_script(name: str) -> ModuleType:
    """A script loaded anew, so that a test may replace what is in it."""
    loader = SourceFileLoader(f"check_{name}", str(FOLDER / name))
    spec = spec_from_loader(loader.name, loader)
    assert spec
    module = sys.modules[loader.name] = module_from_spec(spec)
    loader.exec_module(module)
    return module
