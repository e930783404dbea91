"""Port-mapping inference: instruction sets, experiments, algorithms, runs and their pages."""

__version__ = "0.8.0"
"""Of the whole product; here because the agent, which travels alone, says it to the server as well."""
