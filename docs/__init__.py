"""The pages, and what writes the generated parts of them."""
