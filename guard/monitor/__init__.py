"""Monitor: what all loops of a machine do, for people who look: at a terminal, in a browser, or by Prometheus."""
