"""``python -m loadpilot``: the command line without its console script."""

import sys

from .cli import main

sys.exit(main())
