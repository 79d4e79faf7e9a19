"""What stands in the decorators and the class: settings, profile, thresholds, parameters."""
