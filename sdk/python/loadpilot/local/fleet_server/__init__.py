"""The configuration of a NATS server for a fleet and its tenants.

- `roles`: the subjects that each role may publish and subscribe to; no other file lists them.
- `server_config`: users, accounts and roles as text that a server reads.
- `jwt`: operators, accounts and users as JWTs.
- `user_folder`: whose files are written, and the folder with which a user connects.
- `operator_files`: configuration and keys of a server in operator mode.
- `user_files`: writes the text and the files of all users.
- `operator_users`: issues, renews and revokes users in operator mode.
"""
