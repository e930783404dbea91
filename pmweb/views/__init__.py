"""Pages of the site itself: start, tour, About, glossary, storage, health, metrics, errors."""
