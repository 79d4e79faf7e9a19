"""Load models: files that say who uses a target and how, and their derivation from access logs."""
