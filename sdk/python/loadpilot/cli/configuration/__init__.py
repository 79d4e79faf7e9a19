"""Options that are set outside of the command line: environment, ``.env``, TOML files, profiles."""
