"""Combines chains of single instructions: two in turn, and one among others."""

from __future__ import annotations

from iced_x86 import Code, Decoder, Instruction

from inference.isa.chains import DependencyChain
from inference.isa.x86.blocks import block_of_bytes
from inference.isa.x86.chains.chain_maker import encode
from inference.isa.x86.dependences import accesses_of
from inference.isa.x86.scheme_set import scheme_and_form


class MixedChains:
    def mixed(self, first: DependencyChain, second: DependencyChain) -> DependencyChain | None:
        """Legacy SSE and VEX are not combined: they would wait for upper halves."""
        register = _register(first)
        if register is None or register != _register(second):
            return None
        if register.startswith("vector") and _is_legacy(first) != _is_legacy(second):
            return None
        links = first.links[0], second.links[0]
        return DependencyChain(first.code + second.code, links, loop=first.loop and second.loop)

    def spaced(self, chain: DependencyChain, fillers: int) -> DependencyChain | None:
        if _register(chain) is None:
            return None
        nops = encode([Instruction.create(Code.NOPD)] * fillers)
        return DependencyChain(chain.code + nops, chain.links, loop=chain.loop)


def _register(chain: DependencyChain) -> str | None:
    """The only location that a single instruction reads and writes."""
    if len(chain.links) != 1 or len(list(Decoder(64, chain.code))) != 1:
        return None
    (access,) = accesses_of(block_of_bytes(chain.code))
    written = {write.location for write in access.writes if not write.location.startswith("flag")}
    read = {read.location for read in access.reads}
    return written.pop() if len(written) == 1 and written <= read - {""} else None


def _is_legacy(chain: DependencyChain) -> bool:
    scheme = scheme_and_form(chain.links[0].scheme)
    return scheme is not None and scheme[0].encoding == "legacy"
