"""The memory itself, over a store that it knows by contract only; ``manager`` is its face."""
