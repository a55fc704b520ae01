"""Campaigns in their folders: what people say of a pool is checked, and stored so that nothing of it is ever lost."""
