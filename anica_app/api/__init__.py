"""Operations of the HTTP API about predictors, basic-block sets, and what runs have found out about them.

Thin, as those of inference: they call what pages and commands call.
"""
