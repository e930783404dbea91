"""LLVM's programs as predictors: installed releases, disassembly of blocks, llvm-mca's answers."""
