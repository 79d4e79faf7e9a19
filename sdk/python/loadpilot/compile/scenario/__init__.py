"""Settings of a scenario and its flags: rate, connections, thresholds, parameters, hooks."""
