"""The recorded example: measurements of a Zen 4 core by this product, and the port mapping inferred from
them.

`data/` has the files, `loading.py` loads them into the database. The measurements come from "Measure this
computer" on 2026-11-26, and from a run that counts issue slots. The mapping is the result of `manage.py
infer` on the first of them, exported by `manage.py export`. The computer was a virtual machine with two cores
of an AMD EPYC (Zen 4, family 25, model 17), with other load; the agent was 0.8.0 with default settings; the
schemes are the 53 of the starter set at that time.

All 1,681 experiments settled (every scheme alone, the pairs of the adaptive plan, and the search for the
bottleneck), and so did the 1,000 five-scheme mixes and the 323 experiments that count slots. The measured
R_max is 6. PMEvo inferred the mapping from the 1,681 with 13 ports and seed 1. On the held-out mixes, its
MAPE is 5.50 %, Pearson's r 0.966, and Kendall's τ 0.820. It has four ALUs, two of which shift and one of
these multiplies, three loads of which two take vectors, four vector pipes, two each for `vaddpd`, `vmulps`
and `vpshufb`, and a divider.

The mapping's issue slots are the counted ones.
"""
