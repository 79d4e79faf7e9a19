"""Writes the OpenAPI document: ``python -m loadpilot_gateway.describe FILE``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .app import api


def main() -> None:
    """Write the OpenAPI document of this version."""
    described = json.dumps(api(None, None).openapi(), indent=1, ensure_ascii=False)
    Path(sys.argv[1]).write_text(described + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
