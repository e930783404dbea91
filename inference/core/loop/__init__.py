"""Why a block takes as long as it does on a core: bounds as ranges, and what each instruction adds to them.

| module | |
|---|---|
| `values` | the analysis as a value |
| `modelled` | a block as a core model sees it, under assumptions and with hypothetical changes |
| `analysis` | the analysis of a modelled block; bounds as ranges, dependences by instructions |
| `instructions` | ports, slots, latency and notes of each instruction |
| `remedies` | what would make the block faster, with the cycles that would remain |
| `simulated` | the block on the core's scheduler, and why it takes longer there |
| `timeline` | that simulation as a timeline of instructions |
"""
