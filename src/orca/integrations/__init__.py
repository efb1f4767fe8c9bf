"""Room for adapters to agent frameworks; none is written, and the layers are drawn so that one may come."""
