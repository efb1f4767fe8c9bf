"""The command line: one module a command or group of them; ``main`` puts them together."""
