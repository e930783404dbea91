"""Basic-block sets: brought in, asked about, compared column by column."""
