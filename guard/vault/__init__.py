"""Integrity: what the protected files were (manifest), copies of them (packs), what happened to them, and how they come back."""
