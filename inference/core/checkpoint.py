"""Checkpoints as bytes: an npz archive of the arrays and of the facts as UTF-8 JSON. Nothing is pickled.

Equal checkpoints give equal bytes. Compression is the fastest level: a population is saved every few seconds
and read at most once. What a try shows to shrink little is stored as it is.
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
_TRIED = 1 << 16  # bytes
_WORTHWHILE = 0.6
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date that zip can hold: bytes depend on the content alone


def encode(checkpoint: Checkpoint) -> bytes:
    """The checkpoint as npz bytes.

    Raises `InvalidInputError` where the facts are not JSON or an array holds Python objects.
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
    """The checkpoint that `encode` made these bytes of; `InvalidInputError` for anything else."""
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


def saved_search(checkpoint: Checkpoint, whose: Json, algorithm: str) -> Json:
    """What an algorithm saved of the search that a checkpoint belongs to.

    Raises `InvalidInputError` where another algorithm saved it.
    """
    saved = checkpoint.meta.get("search")
    if not isinstance(saved, dict) or saved.get("algorithm") != whose["algorithm"]:
        raise InvalidInputError(f"this checkpoint is not one of {algorithm}")
    return saved


def check_same_search(saved: Json, whose: Json, search: str) -> None:
    """Raise `InvalidInputError`, naming what differs, where a checkpoint belongs to another search."""
    changed = sorted(key for key in whose.keys() | saved.keys() if whose.get(key) != saved.get(key))
    if changed:
        raise InvalidInputError(
            f"this checkpoint belongs to another {search} (other {', '.join(changed)}); start a new run"
        )


def _write(archive: zipfile.ZipFile, name: str, array: npt.NDArray[np.generic]) -> None:
    info = zipfile.ZipInfo(name + _SUFFIX, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED if _shrinks(array) else zipfile.ZIP_STORED
    with archive.open(info, "w", force_zip64=True) as member:
        np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)


def _shrinks(array: npt.NDArray[np.generic]) -> bool:
    """Whether the middle of an array does so enough, or it is too small to matter."""
    if array.nbytes <= _TRIED:
        return True
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    middle = flat[(len(flat) - _TRIED) // 2 :][:_TRIED]
    return len(zlib.compress(middle.tobytes(), 1)) < _WORTHWHILE * _TRIED


def _read(archive: zipfile.ZipFile, name: str) -> npt.NDArray[np.generic]:
    with archive.open(name + _SUFFIX) as member:
        array: npt.NDArray[np.generic] = np.lib.format.read_array(member, allow_pickle=False)
        return array
