"""Where recordings and corpora are: beside the checkout, or where the environment says."""

import os
from pathlib import Path

SHARED = Path(os.environ.get("YOURTOOL_SHARED", Path(__file__).parents[2] / "shared"))
