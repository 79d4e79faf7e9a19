"""The layers that a connection and a request pass before a route: listen, serve, guard, auth."""
