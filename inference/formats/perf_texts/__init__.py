"""What perf prints of a recording, `perf script` or `perf annotate --stdio`, as places with counts."""

from __future__ import annotations

from inference.formats.perf_texts.annotate import is_annotate
from inference.formats.perf_texts.placing import Placed, placed
from inference.formats.perf_texts.reading import read_samples
from inference.formats.perf_texts.samples import Mapped, PerfSamples, SampledPoint
from inference.formats.perf_texts.script import is_script

__all__ = [
    "Mapped",
    "PerfSamples",
    "Placed",
    "SampledPoint",
    "is_annotate",
    "is_script",
    "placed",
    "read_samples",
]
