"""Supervision of a loop: a process that starts its runner, notices when that dies or hangs, and starts it again."""
