"""Exact re-fit: coordinate descent over schemes, and ever fewer kinds of µops.

This is beyond the paper. One scheme at a time gets the best of all plausible sets of µops, evaluated exactly
on the experiments that contain it, with all other schemes fixed (`kernels.py`, `search_arrays.py`).
`chain.py` orders the steps, `search.py` runs several chains in parallel, and `front.py` has their Pareto
front: error × volume × kinds.
"""
