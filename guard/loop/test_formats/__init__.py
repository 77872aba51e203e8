"""Test formats: a reader for each way in which programs report their tests.

A reader is asked line by line (`line`), once more when the output is over (`end`), and has what it was told in `told`. It takes
no line of a test's own output for a result where the program shows which lines those are.
"""
