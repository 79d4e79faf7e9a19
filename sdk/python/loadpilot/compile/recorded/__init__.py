"""Tasks of constant requests: checked, executed once, and recorded as steps."""
