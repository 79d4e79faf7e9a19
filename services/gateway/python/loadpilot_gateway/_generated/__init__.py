"""Models of the formats, written by ``./dev gen`` from ``proto/schema``: never edit them."""
