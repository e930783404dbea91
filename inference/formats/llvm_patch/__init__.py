"""A core model as a patch of LLVM's own scheduling model, where LLVM's files are given; see docs/formats.md.

| module | |
|---|---|
| `shipped` | the scheduling model of a processor, read from LLVM's records |
| `writing` | what of it measurements contradict, the patch with the evidence, and a test for llvm-mca |
"""
