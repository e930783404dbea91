"""Which members of a class flood their ports as they should, so that they can stand for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference.core.experiment import Experiment
from inference.core.explain.alone import singleton
from inference.core.explain.context import ERRORS, ExplainContext
from inference.core.explain.flooding import HELD_UP, TRUSTED, surpluses
from inference.core.explain.problem import NotCharacterised, VerdictFact
from inference.core.explain.surplus import LEAST_COPIES, flooded

MOST_HEADS = 3
"""Members of a class that are tried before its ports are given up."""

MOST_LOOKS = 5
"""At the floods of a class, before it is given up since nothing floods its ports: disturbances pass."""

MOST_WASTED = 0.03
"""Share of the time that its ports need by which a flood may take longer. What loses more to its registers
or to the core's choice of ports lets others evade."""


@dataclass(frozen=True)
class FloodingMembers:
    """Looks at the floods of classes."""

    context: ExplainContext

    def of(self, classes: Sequence[list[str]]) -> list[list[str]]:
        """The classes, each from the first member on that floods its ports as it should.

        All are looked at together, and again where nothing of a class does so: what disturbs a computer for
        a second makes a class look as if it had no ports.
        """
        sound: dict[int, list[str]] = {}
        looks = MOST_LOOKS if self.context.sampler.repeats else 1
        for look in range(looks):
            last = look == looks - 1
            tried = {
                place: members[: MOST_HEADS if look or last else 1]
                for place, members in enumerate(classes)
                if place not in sound
            }
            self._flood([scheme for heads in tried.values() for scheme in heads], anew=look > 0)
            for place, heads in tried.items():
                first = next((k for k, scheme in enumerate(heads) if self._is_sound(scheme)), None)
                if first is not None or last:
                    for scheme in heads[:first]:
                        self._exclude_restless(scheme)
                    sound[place] = [] if first is None else classes[place][first:]
        return [sound[place] for place in range(len(classes)) if sound[place]]

    def first_sound(self, schemes: Sequence[str]) -> str | None:
        """The first of some schemes that floods its ports as it should; None for none."""
        self._flood(schemes, anew=False)
        return next(filter(self._is_sound, schemes), None)

    def _flood_of(self, scheme: str) -> tuple[Experiment, float]:
        """Copies of it that keep its ports busy for some cycles, and by how many cycles they may be off."""
        width = self.context.widths[scheme]
        flood = flooded(scheme, width * max(1, LEAST_COPIES // width))
        return flood, self.context.settings.epsilon * flood.length

    def _flood(self, schemes: Sequence[str], *, anew: bool) -> None:
        sampler, settings = self.context.sampler, self.context.settings
        floods = dict(map(self._flood_of, schemes))
        wanted = {
            flood: sampler.enough(flood, error / 4, settings.samples) for flood, error in floods.items()
        }
        if anew:
            sampler.forget(wanted)
        self.context.measure(wanted)

    def _is_sound(self, scheme: str) -> bool:
        """Whether its copies take as long as their ports need; of what was not recorded one instance does."""
        sampler, width = self.context.sampler, self.context.widths[scheme]
        flood, error = self._flood_of(scheme)
        if sampler.offers is not None and sampler.beside(scheme) < TRUSTED:
            return False
        if not sampler.has(flood):
            if not self._is_held_up(scheme) or not self._is_like_others(scheme):
                return False
            flood = singleton(scheme)
        reading = sampler.reading(flood)
        if reading.cycles is None or self.context.is_unstable(flood):
            return False
        needed = flood.length / width
        wasted = MOST_WASTED * needed + ERRORS * sampler.error(reading)
        return -error <= reading.cycles - needed <= min(error, wasted)

    def _is_like_others(self, scheme: str) -> bool:
        """Whether a scheme of another mnemonic was recorded beside it that takes as long as it does.

        Otherwise it may be the registers of a few forms that limit them: there are four like `ah`.
        """
        sampler, widths = self.context.sampler, self.context.widths
        mnemonic, width = scheme.partition(" ")[0], widths[scheme]
        return any(
            other.partition(" ")[0] != mnemonic
            and widths.get(other) == width
            and surpluses(self.context, [(other, scheme)]).get((other, scheme), 0.0) >= HELD_UP
            for other in sampler.partners(scheme)
        )

    def _is_held_up(self, scheme: str) -> bool:
        """Whether the flood of a wider candidate shows that it is ports that limit a scheme."""
        context = self.context
        wider = [head for head, width in context.widths.items() if width > context.widths[scheme]]
        counts = surpluses(
            context, [(scheme, head) for head in wider if context.sampler.floods(head, scheme)]
        )
        return any(count >= HELD_UP for count in counts.values())

    def _exclude_restless(self, scheme: str) -> None:
        """Leave out what does not flood its ports as it should; what was not recorded is no reason."""
        flood, _ = self._flood_of(scheme)
        if not self.context.sampler.has(flood):
            return
        expected = flood.length / self.context.widths[scheme]
        seen = self.context.sampler.reading(flood).cycles
        text = "" if seen is None else f"{flood.length} of it take {seen:.3g} cycles, not {expected:.3g}"
        facts = [VerdictFact(flood, expected, seen)]
        self.context.exclude(scheme, "blocking", NotCharacterised.UNSTABLE, text, facts)
