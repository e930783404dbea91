"""The recorded example: what this product measured on a Zen 4 core, and the port mapping inferred from it.

`data/` holds the files, `loading.py` puts them into the database. The measurements come from one press of
"Measure this computer" on 2026-11-26, and from a run that counts issue slots. The mapping is what `manage.py
infer` made of the first of them, in the shell, as `manage.py export` has it. The computer was a virtual
machine with two cores of an AMD EPYC (Zen 4, family 25, model 17), with other work beside; the agent was
0.8.0 with its default settings; the schemes are the 53 that the starter set then had.

All 1,681 experiments settled (every scheme alone, the pairs that the adaptive plan asks for, and the search
for the bottleneck), and so did the 1,000 five-scheme mixes and the 323 experiments that count slots. R_max
was measured to be 6. PMEvo inferred the mapping from the 1,681 with 13 ports and seed 1. On the mixes, which
it has not seen, its MAPE is 5.50 %, Pearson's r 0.966, and Kendall's τ 0.820. It has four ALUs, two of which
shift and one of these multiplies, three loads of which two take vectors, four vector pipes, two each for
`vaddpd`, `vmulps` and `vpshufb`, and a divider.

The slots that were counted are those of the mapping.
"""
