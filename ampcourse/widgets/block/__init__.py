"""A block of a Tensor Core's dot product taken apart term by term."""
