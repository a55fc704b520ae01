"""Categories and types of relations."""
