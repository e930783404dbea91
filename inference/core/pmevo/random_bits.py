"""Random and well-mixed bits for compiled loops. Importing this module loads numba.

A stream is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) in a uint64[1]; bounded numbers use a 32-bit
multiply-shift, whose bias of bound / 2³² is far below anything that a population can show.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from inference.core.compiling import compiled

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


@compiled
def hash_bits(bits: Any) -> Any:
    """A bijective hash: 64 bits, each of which depends on all bits of the argument."""
    bits = (bits ^ (bits >> _S30)) * _MIX_1
    bits = (bits ^ (bits >> _S27)) * _MIX_2
    return bits ^ (bits >> _S31)


@compiled
def next_bits(state: npt.NDArray[np.uint64]) -> Any:
    """The next 64 random bits of a stream."""
    state[0] += _STEP
    return hash_bits(state[0])


@compiled
def below(state: npt.NDArray[np.uint64], bound: Any) -> Any:
    """A random whole number in [0, bound), bound ≤ 2³²."""
    return np.int64(((next_bits(state) >> _S32) * np.uint64(bound)) >> _S32)
