"""A histogram of exponents under a format's range."""
