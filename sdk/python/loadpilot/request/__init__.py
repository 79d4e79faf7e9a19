"""How a request is written: body, headers, form parts, streamed answers."""
