"""The chains of a pair of operands, for each class of values or immediates that may matter."""

from __future__ import annotations

from dataclasses import replace

from inference.isa.chains import ChainLink, PairChains
from inference.isa.x86.assembling import pattern
from inference.isa.x86.chains.making import NOTHING, VECTOR_SHIFT, VECTOR_SHIFT_BITS, ChainMaker
from inference.isa.x86.chains.values import values_by_immediate, values_of
from inference.isa.x86.chains.ways import CannotChainError
from inference.isa.x86.forms import Form
from inference.isa.x86.operand_places import MEMORY, destinations, sources
from inference.isa.x86.scheme_set import described


def pair_chains(link: ChainLink) -> PairChains:
    """The chains for a pair of operands of `links_of`: for each class of values, where these matter."""
    found = described(link.scheme)
    assert found is not None, "links are of schemes that there are"
    scheme, form = found
    source = next(place for place in sources(scheme) if place.name == link.source)
    target = next(place for place in destinations(scheme) if place.name == link.destination)
    values = values_of(scheme) or (NOTHING,)
    if values == (NOTHING,) and MEMORY not in (source.bank, target.bank):
        values = values_by_immediate(form, _usual_immediate(form)) or values
    try:
        made = [
            ChainMaker(replace(link, values=one.name), scheme, form, source, target, one).chains()
            for one in values
        ]
    except CannotChainError as error:
        return PairChains(link, (), isolated=False, why=str(error))
    classes = tuple(one.kind for one in values if one.kind is not None)
    chains = [
        chain
        for one, each in zip(values, made, strict=True)
        for chain in (each.chains if one.immediate is None else each.chains[:1])
    ]
    return PairChains(link, tuple(chains), made[0].isolated, made[0].why, classes)


def _usual_immediate(form: Form) -> int:
    """That of `_instance`, where nothing says another one; 0 of a form without any."""
    positions = [place for place, hole in enumerate(form.holes) if hole.kind == "immediate"]
    if not positions:
        return 0
    return (
        VECTOR_SHIFT_BITS
        if VECTOR_SHIFT.fullmatch(form.mnemonic)
        else pattern(form).immediate(positions[0]) & 0xFF
    )
