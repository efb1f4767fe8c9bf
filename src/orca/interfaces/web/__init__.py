"""The Web UI and the REST API over one memory; ``app.create_app`` puts them together, ``serve.run`` serves them."""
