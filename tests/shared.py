"""The directory of the larger recorded set, which only `make test-recorded` reads."""

import os
from pathlib import Path

SHARED = Path(os.environ.get("YOURTOOL_SHARED", Path(__file__).parents[2] / "shared"))
