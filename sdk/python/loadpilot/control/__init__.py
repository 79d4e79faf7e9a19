"""What a run is followed and steered by: the command line and the gateway both use it."""
