"""The program for the target CPU: measures machine code that a server sends it (thesis §3.2.1, App. D).

Standard library alone, plus `websockets` for the connection; it packs into one `.pyz` (`packing`).

| file | concern |
|---|---|
| `protocol` | the messages between agent and server, as values |
| `connection`, `session` | dials out, reconnects, leases one batch at a time, reports |
| `measuring` | passes over a batch until its results settle |
| `nursery`, `child` | processes that may crash: a fork server, and the loop that runs code |
| `sandbox` | what such a process may still do |
| `harness`, `frame`, `code_pages` | times a loop body: clock, estimator, machine code around it |
| `checks` | blocks with known answers: is this computer fit to measure on right now? |
| `facts` | what kind of computer this is |
| `packing` | builds the `.pyz` |
"""
