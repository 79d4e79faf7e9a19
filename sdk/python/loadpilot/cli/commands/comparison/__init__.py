"""The commands that compare: runs with earlier ones, and two targets."""
