"""The clients that agents run in: what they say to a hook, what a hook answers, how guard is wired into them."""
