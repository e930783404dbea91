"""Other computers that compute: pieces of a search are worked on by the workers of a Dask cluster.

Dask is loaded when a cluster is used, not by importing this package. Nothing here is needed to get an answer:
whatever a cluster does not do is done by this computer, with the same result.
"""
