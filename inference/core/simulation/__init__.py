"""A core's scheduler, simulated: how long a loop takes where µops are not spread as they best would be.

| module | |
|---|---|
| `program` | a loop body as µops with ports, slots and the values they wait for |
| `building` | such a body from the accesses of a block and a core model |
| `policy` | how a scheduler gives µops to ports |
| `steady_state` | cycles per iteration, and when each µop was dispatched and issued |
| `kernel` | the simulation, compiled |

Nothing here knows an instruction set.
"""
