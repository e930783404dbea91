"""The chains of a pair of operands, for each class of values or immediates that may make a difference."""

from __future__ import annotations

from dataclasses import replace

from inference.isa.chains import ChainLink, NoChainError, PairChains
from inference.isa.x86.assembling import pattern
from inference.isa.x86.chains.chain_maker import ANY_VALUES, VECTOR_SHIFT, VECTOR_SHIFT_BITS, ChainMaker
from inference.isa.x86.chains.values import values_by_immediate, values_of
from inference.isa.x86.forms import Form
from inference.isa.x86.link_ends import MEMORY, destinations, sources
from inference.isa.x86.scheme_set import scheme_and_form


def pair_chains(link: ChainLink) -> PairChains:
    """The chains for a pair of operands of `links_of`, for each class of values."""
    scheme_form = scheme_and_form(link.scheme)
    assert scheme_form is not None, "links are of schemes that there are"
    scheme, form = scheme_form
    source = next(end for end in sources(scheme) if end.name == link.source)
    target = next(end for end in destinations(scheme) if end.name == link.destination)
    values = values_of(scheme) or (ANY_VALUES,)
    if values == (ANY_VALUES,) and MEMORY not in (source.bank, target.bank):
        values = values_by_immediate(form, _usual_immediate(form)) or values
    try:
        chains_by_class = [
            ChainMaker(replace(link, values=case.name), scheme, form, source, target, case).chains()
            for case in values
        ]
    except NoChainError as error:
        return PairChains(link, (), isolated=False, why=str(error))
    classes = tuple(case.kind for case in values if case.kind is not None)
    chains = [
        chain
        for case, class_chains in zip(values, chains_by_class, strict=True)
        for chain in (class_chains.chains if case.immediate is None else class_chains.chains[:1])
    ]
    return PairChains(link, tuple(chains), chains_by_class[0].isolated, chains_by_class[0].why, classes)


def _usual_immediate(form: Form) -> int:
    """The usual immediate of an instance; 0 for a form without any."""
    positions = [position for position, hole in enumerate(form.holes) if hole.kind == "immediate"]
    if not positions:
        return 0
    return (
        VECTOR_SHIFT_BITS
        if VECTOR_SHIFT.fullmatch(form.mnemonic)
        else pattern(form).immediate(positions[0]) & 0xFF
    )
