"""The servers under load, each with its own count of requests."""
