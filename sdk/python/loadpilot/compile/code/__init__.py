"""Tasks with logic: translated to a program that the agent plays without Python."""
