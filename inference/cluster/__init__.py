"""Computing on other computers: the workers of a Dask cluster compute parts of a search.

Dask is loaded when a cluster is used, not when this package is imported. A cluster is optional: parts that it
does not compute are computed on this computer, with the same result.
"""
