"""A core model as a patch of LLVM's own scheduling model, where LLVM's files are given; see docs/formats.md.

| module | |
|---|---|
| `shipped` | the scheduling model of a processor, read from LLVM's records |
| `differing` | what of it measurements contradict, by scheduling class |
| `text` | where its definitions stand in LLVM's files, and what they become |
| `writing` | the patch, with the evidence, and a test for llvm-mca |
"""
