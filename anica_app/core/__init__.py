"""The search for inconsistencies: values and algorithms that know no tool (thesis ch. 8)."""
