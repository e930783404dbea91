"""LLVM's programs as predictors: which releases are here, blocks as their text, llvm-mca's answers."""
