"""Other spellings of V's instructions: pseudo-instructions of assemblers, and names of drafts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

_Expansion = Callable[[Sequence[str]], Sequence[tuple[str, Sequence[str]]] | None]

_OPERANDS = {
    "vneg.v": "vrsub.vx 0 1 zero",
    "vnot.v": "vxor.vi 0 1 -1",
    "vwcvt.x.x.v": "vwadd.vx 0 1 zero",
    "vwcvtu.x.x.v": "vwaddu.vx 0 1 zero",
    "vncvt.x.x.w": "vnsrl.wx 0 1 zero",
    "vmmv.m": "vmand.mm 0 1 1",
    "vmcpy.m": "vmand.mm 0 1 1",
    "vmnot.m": "vmnand.mm 0 1 1",
    "vmclr.m": "vmxor.mm 0 0 0",
    "vmset.m": "vmxnor.mm 0 0 0",
    "vfneg.v": "vfsgnjn.vv 0 1 1",
    "vfabs.v": "vfsgnjx.vv 0 1 1",
    **{f"vl{count}r.v": f"vl{count}re8.v 0 1" for count in (1, 2, 4, 8)},
    "vmsgt.vv": "vmslt.vv 0 2 1",
    "vmsgtu.vv": "vmsltu.vv 0 2 1",
    "vmsge.vv": "vmsle.vv 0 2 1",
    "vmsgeu.vv": "vmsleu.vv 0 2 1",
    "vmfgt.vv": "vmflt.vv 0 2 1",
    "vmfge.vv": "vmfle.vv 0 2 1",
    "vpopc.m": "vcpop.m 0 1",
    "vmandnot.mm": "vmandn.mm 0 1 2",
    "vmornot.mm": "vmorn.mm 0 1 2",
    "vfredsum.vs": "vfredusum.vs 0 1 2",
    "vfwredsum.vs": "vfwredusum.vs 0 1 2",
    "vle1.v": "vlm.v 0 1",
    "vse1.v": "vsm.v 0 1",
}
"""{mnemonic: the instruction, with the numbers of the written operands}; a mask follows."""

_DECREMENTED = {
    "vmslt.vi": "vmsle.vi",
    "vmsltu.vi": "vmsleu.vi",
    "vmsge.vi": "vmsgt.vi",
    "vmsgeu.vi": "vmsgtu.vi",
}
"""{comparison: the one with an immediate that is smaller by 1}."""


def _reorder(template: str) -> _Expansion:
    mnemonic, *places = template.split()
    count = 1 + max(int(place) for place in places if place.isdecimal())

    def expand(operands: Sequence[str]) -> Sequence[tuple[str, Sequence[str]]] | None:
        if len(operands) < count:
            return None
        written = [operands[int(place)] if place.isdecimal() else place for place in places]
        return [(mnemonic, [*written, *operands[count:]])]

    return expand


def _decrement(mnemonic: str) -> _Expansion:
    def expand(operands: Sequence[str]) -> Sequence[tuple[str, Sequence[str]]] | None:
        try:
            target, source, immediate, *mask = operands
            return [(mnemonic, [target, source, str(int(immediate, 0) - 1), *mask])]
        except ValueError:
            return None

    return expand


EXPANSIONS: Mapping[str, _Expansion] = {
    **{name: _reorder(template) for name, template in _OPERANDS.items()},
    **{name: _decrement(mnemonic) for name, mnemonic in _DECREMENTED.items()},
}
