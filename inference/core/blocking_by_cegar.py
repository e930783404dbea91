"""The ports of blocking instructions by counter-examples (§6.2.1, step 4): one algorithm serves another."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import replace

from inference.core import cegar
from inference.core.cegar import CegarProblem, CegarResult, CegarSettings, Unexplained
from inference.core.errors import InsufficientDataError
from inference.core.explain.blocking_question import BlockingAnswer, BlockingQuestion, DropReason
from inference.core.protocols import Measurer, Reporter

LIMIT_WITH_IMPROPER = 8_000_000
"""z3 resource units per call where schemes have two µops, which makes proofs hard."""

LIMIT_WITH_KNOWN = 1_000_000
"""The same where the other port sets are known: such a search is easy, or the schemes are inconsistent."""

MIN_SIMILAR = 3
"""Schemes that behave alike from which on they are trusted more than a measurement without explanation."""

_MERGES_DOMAINS = DropReason(
    "with it, parts of the core share ports that are apart without it, and hardly a scheme is like it"
)


def solve_by_cegar(
    question: BlockingQuestion, measurer: Measurer, reporter: Reporter, seed: int
) -> BlockingAnswer:
    """The ports of blocking instructions, by counter-examples; a `BlockingSolver`.

    Schemes with two µops are added when those with one no longer contradict one another: a search with them
    takes minutes, and several may be needed. Where ports are known, it takes seconds.

    A core that wastes a little time leaves measurements unexplained. Where it is more than that, or where
    only a few schemes behave like one of those that contradict one another, the least trusted scheme is left
    out. So are rare schemes without which integer, vector and memory ports become disjoint: a delay in the
    front end can look like a scheme on a few ports.

    Args:
        question: The schemes, and the ports of those that are known.
        measurer: Measures the experiments that distinguish candidates.
        reporter: Receives the events of each search.
        seed: Seed of each search; equal seeds and measurements give equal answers.

    Raises:
        InsufficientDataError: No scheme is left; the message has the contradictions.
    """
    exclusions: dict[str, DropReason] = {}
    deferred = () if question.known else question.improper
    while True:
        problem = _problem(question, {*exclusions, *deferred})
        if problem is None:
            reasons = "; ".join(conflict.text for conflict in exclusions.values())
            raise InsufficientDataError(f"no ports explain the blocking instructions: {reasons}")
        # The check takes seconds where the search takes minutes; with schemes of two µops it takes as long.
        unexplained = () if problem.improper else cegar.contradictions(problem, measurer, reporter, seed)
        if (culprit := _least_trusted(unexplained, question)) is None:
            waste = None if problem.improper else question.core  # with waste, such searches do not end
            result = cegar.infer(problem, measurer, reporter, seed, waste=waste, asks_scheduler=False)
            unexplained, culprit = result.unexplained, _least_trusted(result.unexplained, question)
        if culprit is not None:
            conflicts = [conflict for conflict in unexplained if culprit in conflict.experiment.schemes]
            contradicting = tuple(conflict.experiment for conflict in conflicts)
            is_waste = not any(conflict.is_more_than_waste for conflict in conflicts)
            exclusions[culprit] = DropReason("; ".join(map(str, conflicts)), contradicting, unplaced=is_waste)
            continue
        if not question.known and (rare := _rare_schemes(result, problem, question)):
            smaller = _problem(question, {*exclusions, *deferred, *rare})
            assert smaller is not None, "each domain keeps a scheme"
            smaller_result = cegar.infer(
                smaller, measurer, reporter, seed, waste=question.core, asks_scheduler=False
            )
            is_confirmed = len(smaller_result.apart) > len(result.apart) and not smaller_result.reason
            if is_confirmed and _least_trusted(smaller_result.unexplained, question) is None:
                result = smaller_result
                exclusions |= dict.fromkeys(rare, _MERGES_DOMAINS)
        if not deferred:
            return BlockingAnswer(
                mapping=result.mapping,
                alternatives=tuple(conflict.mapping for conflict in result.alternatives),
                dropped=exclusions,
                verdict=_verdict_text(result),
                experiments=len(result.experiments),
                assumptions=result.assumptions,
                unexplained=tuple(map(str, result.unexplained)),
            )
        deferred = ()


def _problem(question: BlockingQuestion, without: Set[str]) -> CegarProblem | None:
    """The question without some schemes; None where no scheme of one µop is left."""
    schemes = tuple(scheme for scheme in question.schemes if scheme not in without)
    improper = tuple(scheme for scheme in question.improper if scheme in schemes)
    if len(schemes) == len(improper):
        return None
    settings = CegarSettings(
        ports=question.ports,
        most_ports=max(question.most_ports, *question.widths.values(), 1),
        epsilon=question.epsilon,
        r_max=question.r_max,
        # Where improper schemes are still to be added, the alternatives are listed once, at the end.
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


def _rare_schemes(result: CegarResult, problem: CegarProblem, question: BlockingQuestion) -> list[str]:
    """Schemes of domains that share ports, each with few that behave like it.

    Empty where a domain has no other schemes: without them, nothing would be known of its ports.
    """
    domains = sorted(set(problem.domains.values()))
    sharing = [pair for pair in itertools.combinations(domains, 2) if set(pair) not in map(set, result.apart)]
    suspects = [
        scheme
        for scheme, domain in problem.domains.items()
        if any(domain in pair for pair in sharing) and question.trust.get(scheme, 0) < MIN_SIMILAR
    ]
    represented = {domain for scheme, domain in problem.domains.items() if scheme not in suspects}
    return sorted(suspects) if represented == set(domains) else []


def _least_trusted(unexplained: Sequence[Unexplained], question: BlockingQuestion) -> str | None:
    """The scheme to leave out, None for none.

    Of the schemes in experiments that are unexplained by too much, the one in more than half of them; where
    there is none, the one that the fewest schemes behave like.
    """

    def trust(scheme: str) -> int:
        return question.trust.get(scheme, 0)

    serious = [
        conflict
        for conflict in unexplained
        if conflict.is_more_than_waste or min(map(trust, conflict.experiment.schemes)) < MIN_SIMILAR
    ]
    counts = Counter(scheme for conflict in serious for scheme in conflict.experiment.schemes)
    suspects = [scheme for scheme, times in counts.items() if 2 * times > len(serious)] or list(counts)
    return min(suspects, key=lambda scheme: (trust(scheme), -counts[scheme], scheme), default=None)


def _verdict_text(result: CegarResult) -> str:
    if result.limit:
        return f"others may fit as well: {result.limit}"
    if not result.alternatives:
        if not result.more_alternatives:
            return "the search found no other mapping of the blocking instructions"
        return f"others fit as well: {result.reason or 'they were not listed'}"
    schemes = "; ".join(result.ambiguous_schemes)
    more = " or more" if result.more_alternatives else ""
    noun = "mapping fits" if len(result.alternatives) == 1 and not more else "mappings fit"
    return f"{len(result.alternatives)}{more} other {noun}, which differ in {schemes}"
