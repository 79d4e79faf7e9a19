"""How each tool is told what to do, and how its own report is read. Must never judge."""
