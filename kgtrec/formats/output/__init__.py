"""How files and folders are written, replaced and recorded."""
