"""Inference of a port mapping by any algorithm: form, run, what it tells while it works and afterwards."""

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import RunKind
from inference.runs.lazy import lazy
from inference.web.panels import PagePanel, PanelPlace

KINDS = (
    RunKind(
        "infer",
        label="Inference",
        job=lazy(__name__, "job.InferJob"),
        summary="Inference of a port mapping",
        example={
            "algorithm": "pmevo",
            "source": {"datasets": [3]},
            "ports": 6,
            "seed": 1,
            "settings": {"population": 200, "max_generations": 100},
        },
        keeps=lazy(__name__, "words.kept_mapping"),
        load=lazy(__name__, "job.load_loops"),
    ),
)

PRESENTATIONS = {
    "infer": lambda: KindPresentation(
        words=lazy(__name__, "words.infer_words"),
        page=lazy(__name__, "run_page.inference"),
        live=lazy(__name__, "evolution.evolution_live"),
        archived=lazy(__name__, "request.archived"),
    )
}

RECORDS = {
    "search": lazy(__name__, "search_record.SearchRecord"),
    "evolution": lazy(__name__, "records.EvolutionRecord"),
    "explain": lazy(__name__, "records.ExplainRecord"),
}

PANELS = (
    PagePanel(
        PanelPlace.MAPPING,
        "front",
        "Front",
        "inference/inferring/front.html",
        lazy(__name__, "front_pages.front_tab"),
        place=70,
        suits=lazy(__name__, "front_pages.has_front"),
        scripts=("js/front.js",),
    ),
    PagePanel(
        PanelPlace.MAPPING,
        "evidence",
        "Evidence",
        "inference/inferring/evidence.html",
        lazy(__name__, "counter_examples.evidence_tab"),
        place=90,
        suits=lazy(__name__, "counter_examples.has_evidence"),
    ),
    PagePanel(
        PanelPlace.BELOW_MAPPING,
        "most accurate",
        "",
        "inference/inferring/most_accurate.html",
        lazy(__name__, "front_pages.most_accurate"),
    ),
)
