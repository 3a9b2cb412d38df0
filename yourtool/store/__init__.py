"""Session storage: facts in SQLite, and the tables projected from them."""
