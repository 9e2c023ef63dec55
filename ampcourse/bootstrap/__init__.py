"""What runs before anything is installed: standard library only, Python 3.11 or newer."""
