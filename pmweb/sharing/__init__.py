"""Links by which people without an account see one mapping, core model, comparison or campaign."""
