"""The maths of port mappings, free of Django: values, throughput, metrics and the inference algorithms.

Values are `mapping`, `experiment`, `resources` and `core_model`. What they predict: `throughput` (exact),
`evaluator` (many at once), `schedule` (who runs where), `simulation` (a scheduler, cycle by cycle).
Inference: `cegar`, `pmevo`, `explain`, `latency`, `front_end`. How good a mapping is: `metrics`
(MAPE, Pearson's r, Kendall's τ), `sampling` (what is held out), `residuals`, `model_check`, `judging`.

Importing this package loads numpy at most; scipy and numba come at first use.
"""
