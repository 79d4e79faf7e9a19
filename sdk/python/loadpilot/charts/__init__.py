"""The chart of a fleet for Kubernetes, as files: ``loadpilot deploy`` installs it."""
