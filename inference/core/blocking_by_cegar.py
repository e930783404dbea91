"""The ports of blocking instructions by counter-examples (§6.2.1, step 4): one algorithm serves another."""

from __future__ import annotations

from collections import Counter

from inference.core import cegar
from inference.core.cegar import CegarProblem, CegarResult, CegarSettings, Clash, ClashError
from inference.core.errors import InsufficientDataError
from inference.core.explain.blocking import BlockingAnswer, BlockingQuestion
from inference.core.protocols import Measurer, Reporter


def solve_by_cegar(
    question: BlockingQuestion, measurer: Measurer, reporter: Reporter, seed: int
) -> BlockingAnswer:
    """See `BlockingSolver`. Of schemes that contradict one another, the least trusted is left out."""
    settings = CegarSettings(
        ports=question.ports,
        most_ports=max(question.most_ports, *question.widths.values(), 1),
        epsilon=question.epsilon,
        r_max=question.r_max,
        alternatives=question.alternatives,
    )
    dropped: dict[str, str] = {}
    while True:
        schemes = tuple(scheme for scheme in question.schemes if scheme not in dropped)
        improper = tuple(scheme for scheme in question.improper if scheme not in dropped)
        if len(schemes) == len(improper):
            raise InsufficientDataError(
                f"no ports explain the blocking instructions: {'; '.join(dropped.values())}"
            )
        problem = CegarProblem(
            schemes,
            settings,
            uops=dict.fromkeys(improper, 2),
            widths={scheme: width for scheme, width in question.widths.items() if scheme in schemes},
            improper=improper,
        )
        try:
            found = cegar.infer(problem, measurer, reporter, seed)
        except ClashError as error:
            dropped[_culprit(error.clash, question)] = error.clash.text
        else:
            return BlockingAnswer(
                mapping=found.mapping,
                alternatives=tuple(each.mapping for each in found.alternatives),
                dropped=dropped,
                verdict=_in_words(found),
                experiments=len(found.experiments),
            )


def _culprit(clash: Clash, question: BlockingQuestion) -> str:
    """The scheme that fewest others behave like; of several, the one in most of the experiments."""
    often = Counter(
        scheme
        for experiment, _ in clash.experiments
        if not experiment.is_singleton
        for scheme in experiment.schemes
    )
    often = often or Counter(scheme for experiment, _ in clash.experiments for scheme in experiment.schemes)
    return min(often, key=lambda scheme: (question.trust.get(scheme, 0), -often[scheme], scheme))


def _in_words(found: CegarResult) -> str:
    if found.limit:
        return f"not proven to be the only one: {found.limit}"
    if not found.alternatives and not found.more_alternatives:
        return "the only mapping of the blocking instructions that explains the measurements"
    schemes = "; ".join(found.ambiguous_schemes)
    more = " or more" if found.more_alternatives else ""
    noun = "mapping fits" if len(found.alternatives) == 1 and not more else "mappings fit"
    return f"{len(found.alternatives)}{more} other {noun}, which differ in {schemes}"
