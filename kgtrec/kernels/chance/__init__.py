"""What measures are worth by chance."""
