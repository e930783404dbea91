"""A port mapping beside LLVM's scheduling model."""
