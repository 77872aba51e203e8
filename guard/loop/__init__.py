"""The loop: runs an agent again and again, and stops when it should.

The core is a fold. What happens is an event in the journal; `machine.step(state, event)` gives the next state and what to do
now. It takes no clock, no processes and no files: times come with the events. Only journal, checkpoint, files and store touch
the disk.
"""
