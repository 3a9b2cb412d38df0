"""The system prompt and the parts of requests.

Where a change goes:

- a sentence of the prompt: `agent/requests/prompt.py`, then `make docs`
- what `/context` shows: `agent/requests/next_request.py` (parts, reasons),
  `agent/commands/context.py` (rows)
- what `/request` shows: `agent/requests/inspector.py` (parts, cache), `agent/commands/requests.py`
  (texts)
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(
    __name__,
    "next_request",
)
