"""Compiled inner loops of throughput evaluation. Importing a module of this package loads numba.

- `layout`: the arrays that the loops share, as named tuples;
- `densest`: the inverse throughput of one experiment, by the quickest of four exact methods;
- `tables`: the method for longer mixes on few ports, and for pairs with many µops, in vectors;
- `loops`: preparation per mapping and scheme; many experiments under many mappings;
- `variants`: the same for populations whose mappings have most of their µops in common;
- `climbing`: the hill climb of PMEvo on one mapping.

All arithmetic is on integers, up to one division per experiment, so that results do not depend on the method,
on order, threads or integer width.
"""
