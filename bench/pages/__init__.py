"""Result pages: goals, tables and drawings. Must never measure."""
