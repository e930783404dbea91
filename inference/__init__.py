"""Port-mapping inference: instruction sets, experiments, algorithms, runs and their pages."""

__version__ = "0.8.0"
"""Version of the product; here because the agent, which is packed without the site, reports it, too."""
