"""Port-mapping inference: instruction sets, experiments, algorithms, runs and their pages."""
