"""Run the store on PostgreSQL."""
