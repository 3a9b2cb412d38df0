"""Model providers.

They send requests, stream replies, and translate both between our format and a wire format.

Where a change goes:

- a provider of a known dialect: a row in `providers/provider_specs.py`
- the rhythm in which a response is read: `providers/chunk_gathering.py`
- a quirk of a host: `providers/quirks.py`, then `make docs`
- a cost that a provider reports later: `providers/generation_costs.py` (the question),
  `agent/money/reported_costs.py` (when, its fact)
"""
