"""Touch the world, and say how."""
