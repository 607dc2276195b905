"""Connect, listen and exchange frames between machines."""
