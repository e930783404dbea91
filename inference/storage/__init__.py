"""Between database rows and the values of `inference.core`, a module per kind of row.

`rows` stores and loads mappings and measurements; `evaluating` judges them; `results` says what other
results contradict.
"""
