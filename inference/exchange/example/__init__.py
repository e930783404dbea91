"""The recorded example: what this product measured on a Zen 4 core, and the port mapping inferred from it.

`data/` holds the files, `loading.py` puts them into the database. They come from one press of "Measure this
computer" on 2026-11-26 with eleven ports, and from a run that counts issue slots, as `manage.py export` has
them. The computer was a virtual machine with two cores of an AMD EPYC (Zen 4, family 25, model 17), with
other work beside; the agent was 0.8.0 with its default settings; the schemes are the 53 of the starter set.

All 1,681 experiments settled (every scheme alone, the pairs that the adaptive plan asks for, and the search
for the bottleneck), and so did the 1,000 five-scheme mixes and the 323 experiments that count slots. R_max
was measured to be 6. PMEvo inferred the mapping from the 1,572 of its own plan with seed 1. On the mixes,
which it has not seen, its MAPE is 4.92 %, Pearson's r 0.973, and Kendall's τ 0.850. It has four ALUs, three
loads of which two take vectors, and four vector pipes, two each for `vaddpd`, `vmulps` and `vpshufb`. A
multiplication has a µop on the ALUs beside its own, which stands for what the core loses between
multiplications and shifts.

The slots that were counted are those of the mapping but for `add` to memory, which takes two: a doubt.
"""
