"""What holds for every test."""

try:
    from hypothesis import settings
except ImportError:  # tests that need it say so themselves
    pass
else:
    # A busy machine is no failure; a hanging test is pytest-timeout's to end.
    settings.register_profile("ampcourse", deadline=None)
    settings.load_profile("ampcourse")
