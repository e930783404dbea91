"""How the Dask cluster of an installation is doing, in words."""

from __future__ import annotations

from inference.cluster.connection import ClusterError, Connection

_ASK_SECONDS = 2.0


def condition(address: str) -> str:
    """A sentence or two for whoever runs the site; asks the scheduler, and never fails.

    `address`: what `PMWEB_DASK` says, empty where it is not set.
    """
    if not address:
        return "not configured: this computer alone computes (PMWEB_DASK=tcp://host:8786 adds others)"
    try:
        connection = Connection(address, _ASK_SECONDS)
    except ClusterError:
        return (
            f"{address} cannot be reached: start it with “python -m dask scheduler” or correct PMWEB_DASK; "
            "until then this computer alone computes"
        )
    try:
        crew = connection.crew()
    except ClusterError as error:
        return str(error)
    finally:
        connection.close()
    if not crew.fit and not crew.refused:
        return f"{address} has no workers: start some with “python -m dask worker {address}”"
    used = f"connected with {len(crew.fit)} worker{'' if len(crew.fit) == 1 else 's'} of {address}"
    return "; ".join([used, *(f"{worker} is not used: it {why}" for worker, why in crew.refused.items())])
