"""A dynamic loss scale through time."""
