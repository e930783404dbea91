"""The compiled inner loops of throughput evaluation. Importing a module of this package loads numba.

- `layout`: the arrays that the loops share, as named tuples;
- `densest`: the inverse throughput of one experiment, by whichever of four exact ways is the quickest for it;
- `tables`: the way for longer mixes on few ports, and for pairs with many µops, in vectors;
- `loops`: what is listed once per mapping and scheme; many experiments under many mappings;
- `variants`: the same for populations whose mappings have most of their µops in common;
- `climbing`: the hill climb of PMEvo on one mapping.

Everything is arithmetic on whole numbers up to the one division that ends each experiment, so answers depend
neither on the way that was taken, nor on order, threads or integer width.
"""
