"""Tasks that are nothing but constant requests: executed once, and recorded."""
