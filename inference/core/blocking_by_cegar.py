"""The ports of blocking instructions by counter-examples (§6.2.1, step 4): one algorithm serves another."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import replace

from inference.core import cegar
from inference.core.cegar import CegarProblem, CegarResult, CegarSettings, Unexplained
from inference.core.errors import InsufficientDataError
from inference.core.explain.blocking_question import BlockingAnswer, BlockingQuestion, LeftOut
from inference.core.protocols import Measurer, Reporter

LIMIT_WITH_IMPROPER = 8_000_000
"""z3 resource units for a call where schemes have two µops, which make proofs hard."""

LIMIT_WITH_KNOWN = 1_000_000
"""The same where the other port sets are known: that is easy, or the schemes are not what they seem."""

_TIES = LeftOut(
    "with it, parts of the core share ports that are apart without it, and hardly a scheme is like it"
)
TRUSTED = 3
"""How many schemes that behave alike are believed against a measurement that no mapping explains."""


def solve_by_cegar(
    question: BlockingQuestion, measurer: Measurer, reporter: Reporter, seed: int
) -> BlockingAnswer:
    """See `BlockingSolver`.

    Schemes with two µops come in when those with one contradict one another no more: a search with them takes
    minutes, and there may have to be several. Where ports are known, it takes seconds.

    A core that wastes a little time leaves measurements unexplained. Where it is more than that, or where
    only a few schemes are like one of those that contradict one another, the least trusted is left out. So
    are those that only a few are like where integer, vector and memory ports can be kept apart without them:
    what the front end holds up can pass for a scheme on a few ports.
    """
    dropped: dict[str, LeftOut] = {}
    waiting = () if question.known else question.improper
    while True:
        problem = _problem(question, {*dropped, *waiting})
        if problem is None:
            why = "; ".join(each.text for each in dropped.values())
            raise InsufficientDataError(f"no ports explain the blocking instructions: {why}")
        # Seconds, where the search to its end takes minutes; with schemes of two µops it would not.
        unexplained = () if problem.improper else cegar.contradictions(problem, measurer, reporter, seed)
        if (culprit := _culprit(unexplained, question)) is None:
            waste = None if problem.improper else question.core  # with it, these searches do not end
            found = cegar.infer(problem, measurer, reporter, seed, waste=waste, asks_scheduler=False)
            unexplained, culprit = found.unexplained, _culprit(found.unexplained, question)
        if culprit is not None:
            about = [each for each in unexplained if culprit in each.experiment.schemes]
            contradicting = tuple(each.experiment for each in about)
            is_waste = not any(each.is_more_than_waste for each in about)
            dropped[culprit] = LeftOut("; ".join(map(str, about)), contradicting, unplaced=is_waste)
            continue
        if not question.known and (lonely := _lonely(found, problem, question)):
            smaller = _problem(question, {*dropped, *waiting, *lonely})
            assert smaller is not None, "each domain keeps a scheme"
            without = cegar.infer(
                smaller, measurer, reporter, seed, waste=question.core, asks_scheduler=False
            )
            is_shown = len(without.apart) > len(found.apart) and not without.reason
            if is_shown and _culprit(without.unexplained, question) is None:
                found = without
                dropped |= dict.fromkeys(lonely, _TIES)
        if not waiting:
            return BlockingAnswer(
                mapping=found.mapping,
                alternatives=tuple(each.mapping for each in found.alternatives),
                dropped=dropped,
                verdict=_in_words(found),
                experiments=len(found.experiments),
                assumptions=found.assumptions,
                unexplained=tuple(map(str, found.unexplained)),
            )
        waiting = ()


def _problem(question: BlockingQuestion, without: Set[str]) -> CegarProblem | None:
    """The question without some schemes; None where nothing of one µop is left."""
    schemes = tuple(scheme for scheme in question.schemes if scheme not in without)
    improper = tuple(scheme for scheme in question.improper if scheme in schemes)
    if len(schemes) == len(improper):
        return None
    settings = CegarSettings(
        ports=question.ports,
        most_ports=max(question.most_ports, *question.widths.values(), 1),
        epsilon=question.epsilon,
        r_max=question.r_max,
        # With schemes that are still to come in, others would be listed again.
        alternatives=question.alternatives if improper or not question.improper else 0,
    )
    if improper:
        limit = LIMIT_WITH_KNOWN if question.known else LIMIT_WITH_IMPROPER
        settings = replace(settings, solver_limit=limit)
    return CegarProblem(
        schemes,
        settings,
        uops=dict.fromkeys(improper, 2),
        widths={scheme: width for scheme, width in question.widths.items() if scheme in schemes},
        known={scheme: mask for scheme, mask in question.known.items() if scheme in schemes},
        improper=improper,
        domains={scheme: domain for scheme, domain in question.domains.items() if scheme in schemes},
        in_pairs=not improper,
    )


def _lonely(found: CegarResult, problem: CegarProblem, question: BlockingQuestion) -> list[str]:
    """Schemes that few are like, of domains that share ports; none where that are all of a domain."""
    domains = sorted(set(problem.domains.values()))
    sharing = [pair for pair in itertools.combinations(domains, 2) if set(pair) not in map(set, found.apart)]
    suspects = [
        scheme
        for scheme, domain in problem.domains.items()
        if any(domain in pair for pair in sharing) and question.trust.get(scheme, 0) < TRUSTED
    ]
    left = {domain for scheme, domain in problem.domains.items() if scheme not in suspects}
    return sorted(suspects) if left == set(domains) else []


def _culprit(unexplained: Sequence[Unexplained], question: BlockingQuestion) -> str | None:
    """The scheme to leave out, None for none.

    Of those in what is unexplained by too much, the one in more than half of it; where there is none, the one
    that fewest others behave like.
    """

    def trust(scheme: str) -> int:
        return question.trust.get(scheme, 0)

    much = [
        each
        for each in unexplained
        if each.is_more_than_waste or min(map(trust, each.experiment.schemes)) < TRUSTED
    ]
    often = Counter(scheme for each in much for scheme in each.experiment.schemes)
    suspects = [scheme for scheme, times in often.items() if 2 * times > len(much)] or list(often)
    return min(suspects, key=lambda scheme: (trust(scheme), -often[scheme], scheme), default=None)


def _in_words(found: CegarResult) -> str:
    if found.limit:
        return f"others may fit as well: {found.limit}"
    if not found.alternatives and not found.more_alternatives:
        return "the search found no other mapping of the blocking instructions"
    schemes = "; ".join(found.ambiguous_schemes)
    more = " or more" if found.more_alternatives else ""
    noun = "mapping fits" if len(found.alternatives) == 1 and not more else "mappings fit"
    return f"{len(found.alternatives)}{more} other {noun}, which differ in {schemes}"
