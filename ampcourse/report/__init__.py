"""What was measured beside what others published and what the hardware allows.

`published` and `comparison` do the arithmetic, `table` the words, `command` the command line.
"""
