"""The demo and the measurements. Must never be imported by the product or by its tests."""
