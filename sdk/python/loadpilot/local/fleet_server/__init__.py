"""The configuration of a NATS server for a fleet and its tenants.

- `roles`: what each role may publish and subscribe to; the one place for it.
- `server_config`: users, accounts and roles as text that a server reads.
- `user_files`: writes the text and the files with which each user connects.
"""
