"""The known models, their capabilities and their prices.

Where a change goes:

- which prices a stored request names: `providers/catalogue/price_tables.py` (form, digest),
  `stored_prices.py` (files)
"""
