"""Define the response models that the OpenAPI document is made from."""
