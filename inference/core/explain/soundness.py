"""Members of a class whose floods keep its ports busy, so that they can represent it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.core.experiment import Experiment
from inference.core.explain.alone import singleton
from inference.core.explain.context import ERRORS, ExplainContext
from inference.core.explain.flooding import MIN_DELAY, TRUSTED, surpluses
from inference.core.explain.problem import NotCharacterised, VerdictFact
from inference.core.explain.surplus import MIN_COPIES, flood_of

MAX_HEADS = 3
"""Members of a class that are tried before the class is given up."""

MAX_REPETITIONS = 5
"""Measurements of a class's floods before it is given up: disturbances pass."""

MAX_WASTED = 0.03
"""Share by which a flood may exceed the time that its ports need. A flood that loses more, to its registers
or to the core's choice of ports, lets other µops evade."""


@dataclass(frozen=True)
class FloodingMembers:
    """Finds the members that can represent their class, by measuring floods of them."""

    context: ExplainContext

    def of(self, classes: Sequence[list[str]]) -> list[list[str]]:
        """The classes, each from the first member on whose flood is sound; classes without one are missing.

        All are measured together, and again where no member of a class is sound: a disturbance of a second
        makes a class look as if it had no ports.
        """
        sound: dict[int, list[str]] = {}
        looks = MAX_REPETITIONS if self.context.sampler.repeats else 1
        for look in range(looks):
            last = look == looks - 1
            tried = {
                place: members[: MAX_HEADS if look or last else 1]
                for place, members in enumerate(classes)
                if place not in sound
            }
            self._flood([scheme for heads in tried.values() for scheme in heads], anew=look > 0)
            for place, heads in tried.items():
                first = next((k for k, scheme in enumerate(heads) if self._is_sound(scheme)), None)
                if first is not None or last:  # decided: the members before the first sound one are excluded
                    for scheme in heads[:first]:
                        self._exclude_restless(scheme)
                    sound[place] = [] if first is None else classes[place][first:]
        return [sound[place] for place in range(len(classes)) if sound[place]]

    def first_sound(self, schemes: Sequence[str]) -> str | None:
        """The first of the schemes whose flood is sound; None for none."""
        self._flood(schemes, anew=False)
        return next(filter(self._is_sound, schemes), None)

    def _flood_of(self, scheme: str) -> tuple[Experiment, float]:
        """A flood of the scheme, and the cycles by which its time may be off."""
        width = self.context.widths[scheme]
        flood = flood_of(scheme, width * max(1, MIN_COPIES // width))
        return flood, self.context.settings.epsilon * flood.length

    def _flood(self, schemes: Sequence[str], *, anew: bool) -> None:
        """Measure a flood of each scheme; `anew`: earlier samples of it no longer count."""
        sampler, settings = self.context.sampler, self.context.settings
        floods = dict(map(self._flood_of, schemes))
        samples = {
            flood: sampler.n_samples(flood, error / 4, settings.samples) for flood, error in floods.items()
        }
        if anew:
            sampler.forget(samples)
        self.context.measure(samples)

    def _is_sound(self, scheme: str) -> bool:
        """Whether a flood takes as long as its ports need; where it was not recorded, one instance counts."""
        sampler, width = self.context.sampler, self.context.widths[scheme]
        flood, error = self._flood_of(scheme)
        if sampler.offers is not None and sampler.recorded_partners(scheme) < TRUSTED:
            return False
        if not sampler.has(flood):
            if not self._delays_wider_flood(scheme) or not self._matches_partner(scheme):
                return False
            flood = singleton(scheme)
        reading = sampler.reading(flood)
        if reading.cycles is None or self.context.is_unstable(flood):
            return False
        needed = flood.length / width
        wasted = MAX_WASTED * needed + ERRORS * sampler.error(reading)
        return -error <= reading.cycles - needed <= min(error, wasted)

    def _matches_partner(self, scheme: str) -> bool:
        """Whether a recorded partner of another mnemonic has the same width and delays its flood.

        Otherwise registers may be the limit: there are only four like `ah`.
        """
        sampler, widths = self.context.sampler, self.context.widths
        mnemonic, width = scheme.partition(" ")[0], widths[scheme]
        return any(
            other.partition(" ")[0] != mnemonic
            and widths.get(other) == width
            and surpluses(self.context, [(other, scheme)]).get((other, scheme), 0.0) >= MIN_DELAY
            for other in sampler.partners(scheme)
        )

    def _delays_wider_flood(self, scheme: str) -> bool:
        """Whether it delays the flood of a wider candidate, so that ports are its limit."""
        context = self.context
        wider = [head for head, width in context.widths.items() if width > context.widths[scheme]]
        counts = surpluses(
            context, [(scheme, head) for head in wider if context.sampler.floods(head, scheme)]
        )
        return any(count >= MIN_DELAY for count in counts.values())

    def _exclude_restless(self, scheme: str) -> None:
        """Exclude a scheme whose flood is not sound; keep it where the flood was not recorded."""
        flood, _ = self._flood_of(scheme)
        if not self.context.sampler.has(flood):
            return
        expected = flood.length / self.context.widths[scheme]
        cycles = self.context.sampler.reading(flood).cycles
        text = "" if cycles is None else f"{flood.length} of it take {cycles:.3g} cycles, not {expected:.3g}"
        facts = [VerdictFact(flood, expected, cycles)]
        self.context.exclude(scheme, "blocking", NotCharacterised.UNSTABLE, text, facts)
