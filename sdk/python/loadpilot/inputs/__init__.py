"""What a scenario receives from outside: parameters, rows of feeds, files, random values, units."""
