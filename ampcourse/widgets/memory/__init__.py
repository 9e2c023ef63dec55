"""Where the memory of a training step goes, and what checkpointing gives back."""
