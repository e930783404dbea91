"""Checkpoints as bytes: an npz archive of the arrays and of UTF-8 JSON. Nothing is pickled.

Equal checkpoints give equal bytes. Compression uses the fastest level, since a population is saved every few
seconds and read at most once; an array whose sample shrinks little is stored uncompressed.
"""

from __future__ import annotations

import io
import json
import lzma
import zipfile
import zlib

import numpy as np
import numpy.typing as npt

from inference.core.errors import InvalidInputError
from inference.core.protocols import Checkpoint, Json

_META = "meta"
_ARRAY = "array/"
_SUFFIX = ".npy"
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,  # a compression method that zipfile lacks
    RuntimeError,  # an encrypted member
    EOFError,
    KeyError,
    ValueError,
)
_SAMPLE_BYTES = 1 << 16
_MAX_RATIO = 0.6  # of a compressed sample to the sample: above it, compressing takes time and saves little
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date that zip can hold: bytes depend on the content alone


def encode(checkpoint: Checkpoint) -> bytes:
    """The checkpoint as npz bytes.

    Raises:
        InvalidInputError: Where the facts are not JSON, or an array holds Python objects.
    """
    try:
        meta = json.dumps(checkpoint.meta, sort_keys=True, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"the facts of a checkpoint must be plain JSON: {error}") from error
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        _write(archive, _META, np.frombuffer(meta, dtype=np.uint8))
        for name, array in sorted(checkpoint.arrays.items()):
            if array.dtype.hasobject:
                raise InvalidInputError(f"array {name!r} of a checkpoint holds Python objects, not numbers")
            _write(archive, _ARRAY + name, array)
    return target.getvalue()


def decode(data: bytes) -> Checkpoint:
    """The checkpoint of the bytes that `encode` returned.

    Raises:
        InvalidInputError: For any other bytes.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [name.removesuffix(_SUFFIX) for name in archive.namelist()]
            arrays = {name: _read(archive, name) for name in members}
        meta = json.loads(arrays.pop(_META).tobytes())
    except _UNREADABLE as error:
        raise InvalidInputError(
            f"these {len(data)} bytes are not a checkpoint (an npz archive with {_META!r}): {error}"
        ) from error
    if not isinstance(meta, dict):
        raise InvalidInputError("the facts of a checkpoint must be a JSON object")
    return Checkpoint(meta, {name.removeprefix(_ARRAY): array for name, array in arrays.items()})


def saved_search(checkpoint: Checkpoint, identity: Json, algorithm: str) -> Json:
    """The state of a search in a checkpoint.

    Args:
        checkpoint: Checkpoint of any algorithm.
        identity: What distinguishes the search; `identity["algorithm"]` has to be that of the checkpoint.
        algorithm: Named in the message.

    Raises:
        InvalidInputError: Where another algorithm saved the checkpoint.
    """
    saved = checkpoint.meta.get("search")
    if not isinstance(saved, dict) or saved.get("algorithm") != identity["algorithm"]:
        raise InvalidInputError(f"this checkpoint is not one of {algorithm}")
    return saved


def check_same_search(saved: Json, identity: Json, search: str) -> None:
    """Check that a checkpoint belongs to this search.

    Args:
        saved: Identity in the checkpoint: what determines the course of a search, such as settings and
            schemes.
        identity: The same of the search that would resume.
        search: What the search is called, for the error.

    Raises:
        InvalidInputError: They differ; the message names the keys.
    """
    changed = sorted(key for key in identity.keys() | saved.keys() if identity.get(key) != saved.get(key))
    if changed:
        raise InvalidInputError(
            f"this checkpoint belongs to another {search} (other {', '.join(changed)}); start a new run"
        )


def _write(archive: zipfile.ZipFile, name: str, array: npt.NDArray[np.generic]) -> None:
    info = zipfile.ZipInfo(name + _SUFFIX, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED if _is_compressible(array) else zipfile.ZIP_STORED
    with archive.open(info, "w", force_zip64=True) as member:
        np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)


def _is_compressible(array: npt.NDArray[np.generic]) -> bool:
    """Whether a sample from the middle of an array compresses well, or the array is too small to matter."""
    if array.nbytes <= _SAMPLE_BYTES:
        return True
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    middle = flat[(len(flat) - _SAMPLE_BYTES) // 2 :][:_SAMPLE_BYTES]
    return len(zlib.compress(middle.tobytes(), 1)) < _MAX_RATIO * _SAMPLE_BYTES


def _read(archive: zipfile.ZipFile, name: str) -> npt.NDArray[np.generic]:
    with archive.open(name + _SUFFIX) as member:
        array: npt.NDArray[np.generic] = np.lib.format.read_array(member, allow_pickle=False)
        return array
