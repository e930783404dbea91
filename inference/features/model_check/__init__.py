"""How well the port mapping model describes a machine (thesis §3.2.2)."""
