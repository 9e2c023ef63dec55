"""The programs that scenes launch, one for each; a process's part in it is its `act`.

They are modules, since what is defined in a notebook cannot be found by another process.
"""
