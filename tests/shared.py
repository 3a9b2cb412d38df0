"""Where the larger set of recordings and corpora is, which only `make test-recorded` reads."""

import os
from pathlib import Path

SHARED = Path(os.environ.get("YOURTOOL_SHARED", Path(__file__).parents[2] / "shared"))
