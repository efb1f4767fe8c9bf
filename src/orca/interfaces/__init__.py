"""The faces for people and programs: the command line and the web."""
