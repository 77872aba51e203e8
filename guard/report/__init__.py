"""Report: what loops have done, computed from their journals alone."""
