"""What the vendor calls the ports of a core model: names that somebody gives, and names of another model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inference.core.errors import InvalidInputError
from inference.core.identity import best_renaming
from inference.core.mapping import PortMapping
from inference.formats.core_model_json import PORT_NAME_LIMIT, check_port_names
from inference.formats.problems import ExchangeError
from inference.models import StoredCoreModel
from inference.storage.core_models import core_model_of


def ports_of(row: StoredCoreModel) -> Sequence[str]:
    """The ports of its mapping, () where it has none."""
    if row.document is not None:
        mapping = row.document["mapping"]
        return () if mapping is None else list(mapping["ports"])
    return () if row.mapping is None else list(row.mapping.ports)


def name_ports(row: StoredCoreModel, names: Mapping[str, str]) -> None:
    """Keep these names instead of those that there are. Raises `ExchangeError`, and changes nothing then."""
    given = {port: " ".join(name.split()) for port, name in names.items()}
    given = {port: name for port, name in given.items() if name}
    for port, name in given.items():
        if len(name) > PORT_NAME_LIMIT or not name.isprintable():
            raise ExchangeError(
                f"the name of port {port} is not a line of 1 to {PORT_NAME_LIMIT} letters: {name[:40]!r}"
            )
    try:
        check_port_names(given, ports_of(row))
    except InvalidInputError as error:
        raise ExchangeError(str(error)) from error
    row.port_names = {port: given[port] for port in ports_of(row) if port in given}
    row.save(update_fields=["port_names"])


@dataclass(frozen=True)
class ProposedNames:
    """Names that another core model of the same machine has, for the ports that do the same here."""

    source: StoredCoreModel
    names: Mapping[str, str]


def proposed_names(row: StoredCoreModel) -> ProposedNames | None:
    """Of the newest one with names; None where there is none, or where no port does the same."""
    if row.machine_id is None:
        return None
    named = StoredCoreModel.objects.filter(machine=row.machine_id).exclude(port_names={}).exclude(pk=row.pk)
    source = named.select_related("mapping", "latencies", "front_end").order_by("-pk").first()
    if source is None:
        return None
    here, there = core_model_of(row).mapping, core_model_of(source).mapping
    if here is None or there is None:
        return None
    names = _renamed(here, there, source.port_names)
    return ProposedNames(source, names) if names else None


def _renamed(here: PortMapping, there: PortMapping, names: Mapping[str, str]) -> dict[str, str]:
    """The names of ports over there, for those here that they agree with best."""
    partners = best_renaming(here, there).ports
    return {
        here.ports[partner]: names[port]
        for port, partner in zip(there.ports, partners, strict=True)
        if partner is not None and port in names
    }
