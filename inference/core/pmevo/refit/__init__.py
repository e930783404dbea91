"""Exact re-fit: coordinate descent over schemes, and ever fewer kinds of µops.

Beyond the paper. One scheme at a time gets the best of all plausible sets of µops, judged exactly on the
experiments that contain it, all other schemes fixed (`kernels.py`, `arrays.py`). `chain.py` has the order of
things, `search.py` several chains side by side, `front.py` what they find: error × volume × number of kinds.
"""
