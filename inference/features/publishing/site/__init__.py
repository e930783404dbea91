"""Mappings, core models, comparisons, campaigns and explained loops as a static site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.web.contributions import Publishable

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from inference.models import PortMapping, Run, StoredCoreModel
    from inference.web.published_page import PublishedPage


def _mappings() -> QuerySet[PortMapping]:
    from inference.models import PortMapping  # noqa: PLC0415  pages load it

    return PortMapping.objects.only("name").order_by("-pk")


def _mapping_page(pk: int) -> PublishedPage:
    from inference.features.publishing.site.cores import mapping_page  # noqa: PLC0415  pages load it

    return mapping_page(pk)


def _cores() -> QuerySet[StoredCoreModel]:
    from inference.models import StoredCoreModel  # noqa: PLC0415  pages load it

    return StoredCoreModel.objects.only("name").order_by("-pk")


def _core_page(pk: int) -> PublishedPage:
    from inference.features.publishing.site.cores import core_page  # noqa: PLC0415  pages load it

    return core_page(pk)


def _loops() -> QuerySet[Run]:
    from inference.features.publishing.site.loops import publishable  # noqa: PLC0415  pages load it

    return publishable()


def _loops_page(pk: int) -> PublishedPage:
    from inference.features.publishing.site.loops import loops_page  # noqa: PLC0415  pages load it

    return loops_page(pk)


PUBLISHED = (
    Publishable("mapping", "Port mappings", _mappings, _mapping_page),
    Publishable("core", "Core models", _cores, _core_page),
    Publishable("loop", "Explained loops", _loops, _loops_page),
)
