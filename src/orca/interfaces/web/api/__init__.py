"""The REST API under ``/api/v1``: one module a resource, each a few lines over the memory."""
