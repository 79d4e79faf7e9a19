"""The runs of one or more logs: connections, indexed runs, lists, outcomes and live views."""
