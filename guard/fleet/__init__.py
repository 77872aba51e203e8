"""Fleet: what several loops share: one quota of calls, and the budget of a day."""
