"""Who answers "how many cycles?": recorded data, a simulated processor, and a cache in front of either."""
