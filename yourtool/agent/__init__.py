"""Put it together: one turn is one async generator of events."""
