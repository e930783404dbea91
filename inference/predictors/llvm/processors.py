"""Which processors a release of llvm-mca can simulate."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from inference.containment import CannotStartError, Limits, run
from inference.predictors.llvm.releases import Release
from inference.predictors.processor_names import not_known
from inference.predictors.protocol import PredictorError

_LIMITS = Limits(seconds=10.0, output=1)
_LISTED = re.compile(r"^  (\S+)\s+- Select the \S+ processor", re.MULTILINE)
_NO_SUCH = "is not a recognized processor"
_NO_MODEL = "unable to find instruction-level scheduling information"


def processors(mca: str) -> tuple[str, ...]:
    """The names that an llvm-mca takes for `-mcpu`, in its own order; () where it does not say."""
    return tuple(dict.fromkeys(_LISTED.findall(_told(mca, "help", _changed(mca)))))


def check_processor(release: Release, cpu: str) -> None:
    """Raise `PredictorError` for a processor that the release does not know, or knows without a model."""
    told = _told(release.mca, cpu, _changed(release.mca))
    tool = f"llvm-mca {release.version}"
    if _NO_SUCH in told:
        raise PredictorError(not_known("cpu", tool, cpu, processors(release.mca)))
    if _NO_MODEL in told:
        raise PredictorError(
            f"cpu: {tool} has no scheduling model of {cpu}, so that it cannot simulate it; "
            "it has one of haswell, skylake and znver2, for example"
        )


@lru_cache(maxsize=256)
def _told(mca: str, cpu: str, _changed: int) -> str:
    """What it says of one no-op for this processor, or of `help`; remembered until the file changes."""
    try:
        told = run([mca, "-mtriple=x86_64", f"-mcpu={cpu}", "-iterations=1"], b"nop\n", limits=_LIMITS)
    except CannotStartError:
        return ""
    return (told.complaints + told.output).decode(errors="replace")


def _changed(mca: str) -> int:
    try:
        return Path(mca).stat().st_mtime_ns
    except OSError:
        return 0
