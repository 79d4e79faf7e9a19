"""From a path to a loaded scenario class, its source and its bundle."""
