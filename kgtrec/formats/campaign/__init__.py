"""Files of a campaign."""
