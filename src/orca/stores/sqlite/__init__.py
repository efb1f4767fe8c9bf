"""The SQLite store: one facet a module over one connection, the SQL beside it."""
