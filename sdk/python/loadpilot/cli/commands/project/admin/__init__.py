"""Commands for the operator of a fleet's NATS server."""
