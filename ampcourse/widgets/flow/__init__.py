"""The type-flow graph: which op of a net runs in which type."""
