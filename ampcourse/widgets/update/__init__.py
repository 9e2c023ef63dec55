"""A weight update to drag until it is lost."""
