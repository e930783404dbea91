"""Mappings, core models, comparisons and campaigns as a static site."""

from inference.runs.lazy import lazy
from inference.web.publishable import Publishable

PUBLISHED = (
    Publishable(
        "mapping", "Port mappings", lazy(__name__, "kinds.mappings"), lazy(__name__, "cores.mapping_page")
    ),
    Publishable("core", "Core models", lazy(__name__, "kinds.cores"), lazy(__name__, "cores.core_page")),
)
