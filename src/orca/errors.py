"""Every error that Orca raises, in one tree.

::

    OrcaError
    ├── ConfigError (ValueError)
    ├── MissingExtraError (ImportError)
    ├── StoreError
    │   ├── NotFoundError (LookupError)
    │   ├── ConflictError
    │   ├── MigrationError
    │   ├── EmbeddingSpaceMismatchError
    │   └── StoreUnavailableError
    ├── ProviderError
    │   ├── RateLimitError
    │   ├── ProviderTimeoutError
    │   └── ProviderResponseError
    ├── ContextOverflowError
    └── ToolError
        └── SubAgentError

The first line of a class's docstring is its default message. No driver's error escapes: each backend and
each provider translates its own in one place.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


class OrcaError(Exception):
    """Something went wrong in Orca."""

    def __init__(self, message: str | None = None) -> None:
        """Use ``message``, or the first line of the class's docstring."""
        super().__init__(message or (inspect.getdoc(type(self)) or type(self).__name__).splitlines()[0])


class ConfigError(OrcaError, ValueError):
    """A setting or an argument has a value that cannot be used."""


class MissingExtraError(OrcaError, ImportError):
    """A feature was asked for whose optional packages are not installed."""


class StoreError(OrcaError):
    """The store could not do what was asked."""


class NotFoundError(StoreError, LookupError):
    """There is no such row in this scope."""


class ConflictError(StoreError):
    """The row was changed by somebody else, or exists already."""


class MigrationError(StoreError):
    """The store's schema could not be brought to this version."""


class EmbeddingSpaceMismatchError(StoreError):
    """A vector does not belong to the embedding space it was offered to."""


class StoreUnavailableError(StoreError):
    """The store cannot be read or written: full, read-only, locked, damaged or gone."""


class ProviderError(OrcaError):
    """A model provider failed.

    ``retry_after`` is the number of seconds the provider asked to wait, or None. ``refused`` is true when the
    provider understood the request and refused its content or size, so that sending the same again is useless.
    """

    def __init__(
        self, message: str | None = None, *, retry_after: float | None = None, refused: bool = False
    ) -> None:
        """Remember how long to wait and whether the request itself was refused."""
        super().__init__(message)
        self.retry_after = retry_after
        self.refused = refused


class RateLimitError(ProviderError):
    """The provider asks to slow down."""


class ProviderTimeoutError(ProviderError):
    """The provider did not answer in time."""


class ProviderResponseError(ProviderError):
    """The provider's answer cannot be used.

    An embedder that got part of what it asked for hands over that part: ``usable`` maps positions in the texts
    it was given to their unit vectors (float32 ``[dimensions]``), and ``faults`` maps every other position to
    the reason why it has none. Both are empty when nothing is known about single texts.
    """

    def __init__(
        self,
        message: str | None = None,
        *,
        retry_after: float | None = None,
        refused: bool = False,
        usable: Mapping[int, np.ndarray] | None = None,
        faults: Mapping[int, str] | None = None,
    ) -> None:
        """Keep what can be used of the answer, by position, and what is wrong with the rest."""
        super().__init__(message, retry_after=retry_after, refused=refused)
        self.usable: Mapping[int, np.ndarray] = usable or {}
        self.faults: Mapping[int, str] = faults or {}


class ContextOverflowError(OrcaError):
    """The prompt does not fit into the model's window, even cut to the newest turn."""


class ToolError(OrcaError):
    """A tool failed."""


class SubAgentError(ToolError):
    """A sub-agent failed."""
