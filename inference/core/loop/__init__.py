"""Why a block takes as long as it does on a core: bounds as ranges, and what each instruction adds to them.

| module | |
|---|---|
| `values` | the analysis as a value |
"""
