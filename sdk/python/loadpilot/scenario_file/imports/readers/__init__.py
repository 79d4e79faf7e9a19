"""A reader for each kind of file: it turns the file into the form that a scenario is written of."""
