"""Dashboards of Grafana as code; `./dev gen` writes their JSON. No part of the product runs it."""
