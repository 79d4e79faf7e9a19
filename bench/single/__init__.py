"""Measurements of LoadPilot alone, without peers."""
