"""LoadPilot and its peers: built or installed before anything is measured."""
