"""Who competes with whom in a set of experiments, from schemes alone and in pairs, before any inference."""
