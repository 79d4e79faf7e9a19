"""The live view at a terminal: figures laid out for its size, and drawn in place."""
