"""Entity alignment: similarities of entities to ranks."""
