"""A small site with a little of everything, and how many rows each of its tables has."""

from __future__ import annotations

import io

from django.db import connection
from django.test import Client

from tests.hostile import sound_files as seeds


def furnished() -> tuple[Client, str]:
    """(a browser of the administrator, an API token of hers) of a site that had no rows before."""
    from inference.core.resources import ResourceMapping as Resources
    from inference.formats.block_sets import BlockSetOptions
    from inference.isa.targets import X86
    from inference.models import ISA, ResourceMapping
    from inference.runs.machines.sessions import add_machine
    from inference.storage.block_sets import store
    from inference.storage.instruction_sets import load_supplied
    from inference.storage.mappings import store_resource_mapping
    from pmweb.accounts.api_tokens import issue
    from pmweb.accounts.people import ensure_administrator
    from pmweb.models import Scope

    account = ensure_administrator()
    load_supplied(X86)  # as the launcher does
    seeds.run_archive()
    seeds.campaign_archive()
    isa = ISA.objects.get(name="toy")
    add_machine("lab", isa)
    loads = Resources(("r0", "r1"), {"add R, R": ((1, 0.5),)})
    store_resource_mapping("two resources", isa, loads, origin=ResourceMapping.Origin.IMPORT)
    store(io.BytesIO(seeds.BLOCKS[0]), "blocks.csv", "blocks", BlockSetOptions())
    browser = Client(raise_request_exception=False)
    browser.force_login(account)
    return browser, issue(account, "hostile", Scope.ADMINISTER, None)[1]


_UNCOUNTED = ("django_session", "pmweb_auditentry", "pmweb_apitoken", "pmweb_knownnetwork", "sqlite_sequence")
"""Tables that tell of requests, or of those that make them."""


def row_counts() -> dict[str, int]:
    """{table: rows} of all tables that hold what was stored."""
    with connection.cursor() as cursor:
        tables = [name for name in connection.introspection.table_names(cursor) if name not in _UNCOUNTED]
        quoted = [connection.ops.quote_name(table) for table in tables]
        cursor.execute("SELECT " + ", ".join(f"(SELECT count(*) FROM {table})" for table in quoted))
        return dict(zip(tables, cursor.fetchone(), strict=True))
