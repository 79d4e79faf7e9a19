"""The load generators: the command line of each, and how its own report is read."""
