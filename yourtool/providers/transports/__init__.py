"""HTTP transports.

Where a change goes:

- connections to providers: `providers/transports/http.py` (API keys), `sdk.py` (vendors' clients);
  limits and errors of both: `exchange.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # until the first request, or one that needs them
    __name__,
    "certificates",
    "exchange",
    "http",
)
