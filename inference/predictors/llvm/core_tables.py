"""A processor's scheduling model as a core model, by `llvm-mca -instruction-tables`.

The tables have an instruction's latency, its µops, and how much of each unit it uses: µops that any of
several units can execute count in equal parts for each. Of the ways to share out a use among groups of units
the one with the fewest µops is taken, and of these the one with the widest groups. A group is known where an
instruction of one µop uses all of its units alike.

The tables have one latency per instruction. A register that an instruction reads and writes may be needed
later than its other sources, such as an accumulator: what repeating it takes is asked of llvm-mca as well.
LLVM does not forward from stores, and knows no front end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement

from inference.containment import CannotStartError, CallOutcome, Limits, run
from inference.core.core_model.model import CoreModel, CoreScheduler, MemoryTimes, OperandLatencies
from inference.core.mapping import PortMapping, Uops, uops_of
from inference.core.simulation.program import Binding, SchedulerPolicy
from inference.agent.reading import read_json
from inference.isa.bodies import chain_maker
from inference.isa.chains import ChainLink
from inference.isa.facets import LlvmSide
from inference.isa.llvm_schemes import llvm_side
from inference.isa.targets import target_of
from inference.predictors.llvm.mca import LlvmMca
from inference.predictors.llvm.mca_settings import McaSettings
from inference.predictors.llvm.text import texts_of
from inference.predictors.protocol import Answer, PredictorError
