"""The demo and the measurements. Neither the product nor its tests import it."""
