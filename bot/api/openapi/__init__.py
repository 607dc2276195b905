"""Generate the OpenAPI document."""
