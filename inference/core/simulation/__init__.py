"""A core's scheduler, simulated: how long a loop takes where µops are not distributed optimally.

| module | |
|---|---|
| `program` | a loop body as µops with ports, slots and the values they wait for; a scheduler's policy |
| `steady_state` | cycles per iteration, and when each µop is dispatched and issued |
| `timeline` | cycle by cycle: what each µop waits for, when it retires, where the steady state begins |
| `kernel` | the simulation, compiled |
| `inferring` | which policy explains measured loop bodies, also where instructions wait for each other |

Nothing here depends on an instruction set or a core model: `inference.core.core_model.simulated_program`
makes a loop body of a block.
"""
