"""The core: sessions and turns. A turn is an async generator of events."""
