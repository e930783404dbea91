"""The program for the target CPU: measures machine code that a server sends it (thesis §3.2.1, App. D).

Standard library alone, plus `websockets` for the connection; it packs into one `.pyz` (`packing`).

| file | concern |
|---|---|
| `protocol` | the messages between agent and server, as values |
| `connection`, `session` | dials out, reconnects, leases one batch at a time, reports |
| `passes`, `settling` | passes over a batch until its results settle |
| `fork_server`, `child` | processes that may crash, and the loop that runs code in them |
| `priority` | how soon a process gets the processor |
| `sandbox` | what such a process may still do |
| `process`, `counter_report` | the agent's side of it: how it ended, and what of its words can be believed |
| `harness`, `frame`, `code_pages` | times a loop body: clock, estimator, machine code around it |
| `block_timer`, `paging` | times a basic block, whose memory is mapped when it is touched |
| `targets` | what differs between x86-64, AArch64 and RISC-V: frame, clock, known blocks, instruction cache |
| `checks` | blocks with known answers: is this computer fit to measure on right now? |
| `facts`, `cpuid` | what kind of computer this is, and what its processor has |
| `packing` | builds the `.pyz` |
"""
