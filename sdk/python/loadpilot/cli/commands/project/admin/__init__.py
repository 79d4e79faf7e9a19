"""Commands for the operator of a fleet: users of its NATS server, and proofs of ownership."""
