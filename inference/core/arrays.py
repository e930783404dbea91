"""Arrays by what they hold, for annotations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[Any]
"""Whole numbers of any width: tables keep the narrowest that holds them."""
