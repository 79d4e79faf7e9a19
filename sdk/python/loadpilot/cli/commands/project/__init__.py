"""The commands that set a project and a machine up."""
