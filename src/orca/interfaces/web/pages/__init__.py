"""The pages: one module each. They ask the memory and hand what they got to a template."""

from orca.interfaces.web.pages.routes import router

__all__ = ["router"]
