"""Keys of a gateway's callers: their format and the file that holds their hashes.

- :mod:`.key`: one key, its text, its role and its state.
- :mod:`.key_file`: the file, which is replaced atomically and locked against a second writer.
"""
