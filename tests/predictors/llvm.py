"""Whether LLVM's tools are here: what asks them skips otherwise."""

from __future__ import annotations

import pytest

from inference.predictors.llvm.releases import Release, list_releases


def newest() -> Release:
    """The newest llvm-mca with an llvm-mc beside it; skips where there is none."""
    found = [release for release in list_releases() if release.mc]
    if not found:
        pytest.skip("no llvm-mca with an llvm-mc beside it is installed (Debian: apt install llvm)")
    return found[-1]
