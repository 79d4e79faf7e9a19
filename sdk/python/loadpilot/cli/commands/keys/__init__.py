"""``loadpilot keys``: the file of a gateway's keys."""
