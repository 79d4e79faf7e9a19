"""Lets the tests of this folder import the driver by its name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
