"""The entries that run before every command: read, analyse, judge, answer."""
