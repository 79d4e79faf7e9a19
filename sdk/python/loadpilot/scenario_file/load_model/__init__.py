"""Load models: files that describe the users of a target, and their derivation from access logs."""
