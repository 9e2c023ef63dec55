"""One number bit by bit, and side by side in eight formats."""
