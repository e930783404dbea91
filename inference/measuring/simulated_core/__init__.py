"""A simulated core that executes machine code: what it is sent as bytes, not what its sender says it is.

| module | |
|---|---|
| `code` | the instructions that machine code executes, by the decoder of its instruction set |
| `renaming` | µops, and the results that each of them waits for, through registers and memory |
| `core` | cycles of a batch's item: fetching, then the scheduler of `inference.core.simulation`; a harness |
| `sampled` | true properties by a seed |

Its truth is a `CoreModel`. Dependences are found while instructions are executed one after another, without
the dependence graphs by which core models predict, so that both can be compared.
"""
