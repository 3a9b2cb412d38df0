"""Remember: facts in SQLite, and the tables projected from them."""
