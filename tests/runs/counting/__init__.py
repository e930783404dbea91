"""An app that adds a kind of run to tests: it counts slowly, and misbehaves on demand."""
