"""The known models, their capabilities and their prices."""
