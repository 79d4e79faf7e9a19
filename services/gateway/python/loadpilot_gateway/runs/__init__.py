"""The runs of one or more logs: connections, readings, lists, outcomes and live views."""
