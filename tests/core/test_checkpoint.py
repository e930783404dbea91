from __future__ import annotations

import contextlib
import io
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.checkpoint import decode, encode
from inference.core.errors import InvalidInputError
from inference.core.protocols import Checkpoint

CHECKPOINT = Checkpoint(
    {"algorithm": "test", "slopes": [0.1, 1e300], "none": None, "text": "µop τ"},
    {
        "meta": np.arange(3),  # may have the name of the facts
        "empty": np.empty(0, dtype=np.uint16),
        "matrix": np.array([[1.5, np.nan], [np.inf, -0.0]]),
        "strided": np.arange(10)[::2],
    },
)


def test_a_checkpoint_comes_back_as_it_was() -> None:
    back = decode(encode(CHECKPOINT))
    assert back.meta == CHECKPOINT.meta
    assert back.arrays.keys() == CHECKPOINT.arrays.keys()
    for name, array in CHECKPOINT.arrays.items():
        assert back.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(back.arrays[name], array)


def test_equal_checkpoints_are_equal_bytes() -> None:
    assert encode(CHECKPOINT) == encode(decode(encode(CHECKPOINT)))


def test_numpy_can_read_it_without_pickle() -> None:
    with np.load(io.BytesIO(encode(CHECKPOINT)), allow_pickle=False) as archive:
        assert archive["array/strided"].tolist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize(
    "meta", [{"x": object()}, {"x": float("nan")}, {"x": {1, 2}}], ids=["object", "NaN", "set"]
)
def test_facts_that_are_not_json_are_refused(meta: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match="JSON"):
        encode(Checkpoint(meta))


def test_arrays_of_objects_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="'bad'"):
        encode(Checkpoint({}, {"bad": np.array([{}], dtype=object)}))


def test_pickled_arrays_are_not_read() -> None:
    target = io.BytesIO()
    np.savez(target, meta=np.frombuffer(b"{}", dtype=np.uint8), **{"array/x": np.array([{}], dtype=object)})
    with pytest.raises(InvalidInputError, match="not a checkpoint"):
        decode(target.getvalue())


@given(st.binary(max_size=200))
def test_garbage_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInputError):
        decode(data)


@given(st.data())
def test_a_damaged_checkpoint_never_raises_anything_else(data: st.DataObject) -> None:
    whole = bytearray(encode(CHECKPOINT))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(InvalidInputError):  # damage to a date is no damage
        decode(bytes(whole))


def test_an_archive_without_facts_is_not_a_checkpoint() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(InvalidInputError, match="not a checkpoint"):
        decode(target.getvalue())
