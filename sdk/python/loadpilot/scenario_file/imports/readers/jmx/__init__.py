"""Reads JMeter test plans: ``reader``, with ``properties``, ``requests``, ``xml_document``."""
