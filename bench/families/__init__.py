"""The tables that compare LoadPilot with its peers, one file each."""
