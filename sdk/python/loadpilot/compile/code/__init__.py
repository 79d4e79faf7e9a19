"""Tasks with logic: translated to code, data in the plan that agents execute without Python."""
