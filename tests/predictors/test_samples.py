"""Samples are packed without loss, and bytes of anybody else's are refused."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.errors import InvalidInputError
from inference.predictors.protocol import Answer, Failure
from inference.predictors.samples import Sample, pack, unpack

numbers = st.floats(min_value=0, max_value=1e6, allow_nan=False).map(abs)
details = st.text(max_size=30)
answers = st.one_of(
    st.builds(Answer, cycles=numbers, detail=details),
    st.builds(Answer, failure=st.sampled_from(Failure), detail=details),
)


@st.composite
def batches(draw: st.DrawFn) -> list[Sample]:
    tools, timed = draw(st.integers(0, 3)), draw(st.booleans())
    sample = st.builds(
        Sample,
        st.binary(max_size=40),
        st.tuples(*[answers] * tools),
        st.tuples(*[numbers] * tools) if timed else st.just(()),
    )
    return draw(st.lists(sample, max_size=20))


@given(batches())
def test_what_is_packed_comes_out_again(samples: list[Sample]) -> None:
    packed = pack(samples)
    assert unpack(packed) == samples
    assert pack(unpack(packed)) == packed


def test_more_than_256_different_numbers_and_details_fit() -> None:
    samples = [Sample(b"\x90", (Answer(cycles=at / 7, detail=str(at)),)) for at in range(1000)]
    assert unpack(pack(samples)) == samples


def test_repeating_answers_take_little_space() -> None:
    samples = [Sample(b"\x48\x01\xd8", (Answer(cycles=1.03), Answer(failure=Failure.CRASH)))] * 1000
    assert len(pack(samples)) < 200


@given(st.binary(max_size=200))
def test_other_bytes_are_refused(data: bytes) -> None:
    for packed in (data, b"\x01" + zlib.compress(data)):
        try:
            unpack(packed)
        except InvalidInputError:
            continue
        assert packed == b"" or pack(unpack(packed))


def test_samples_of_different_tools_are_no_batch() -> None:
    with pytest.raises(InvalidInputError, match="same tools"):
        pack([Sample(b"\x90", (Answer(cycles=1.0),)), Sample(b"\x90", ())])
