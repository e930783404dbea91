"""The recorded example: what this product measured on a Zen 3 core, and the port mapping inferred from it.

`data/` holds the files, `loading.py` puts them into the database. They come from one press of "Measure this
computer" on 2026-11-21, as `manage.py export` writes them. The computer was a virtual machine with two cores
of an AMD EPYC (Zen 3, family 25, model 1) at about 3.25 GHz; the agent was 0.1.0 with its default settings;
the schemes are the 53 of the starter set.

Experiments that did not settle are left out: 2,454 of 2,479 did (every scheme alone, pairs 1:1 and 1:n, and
the search for the bottleneck), and 985 of the 1,000 five-scheme mixes. The search found 5.90 instructions per
cycle (the median over multiples of one experiment; single ones come to 5.96), so R_max is 6. PMEvo inferred
the mapping from the 2,360 singletons and pairs of its own plan (94 more were asked by the search alone) with
ten ports, a population of 1000 and seed 1. On the mixes, which it has not seen, its MAPE is 12.98 %,
Pearson's r 0.921, and Kendall's τ 0.657.

The same press on such a computer does it again, up to what measurements scatter; on a disturbed one fewer
experiments settle, and the search may leave open whether the ports explain its rate, so that no R_max is
modelled. Learning from the files with the same settings gives another mapping that is as good (MAPE 13.1 %).
"""
