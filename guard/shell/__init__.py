"""Shell text to effects."""
