"""What was measured beside what others published and what the hardware allows.

`limits`, `published` and `comparison` do the arithmetic, `measured` and `others` the tables,
`command` the command line.
"""
