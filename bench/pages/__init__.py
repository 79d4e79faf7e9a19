"""Result pages: goals, tables and drawings."""
