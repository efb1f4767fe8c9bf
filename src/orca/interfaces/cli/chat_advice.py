"""What went wrong with a provider, in one line that says what to do."""

from __future__ import annotations

from openai import APIConnectionError, APIStatusError, APITimeoutError

from orca.config import Settings
from orca.errors import (
    ContextOverflowError,
    OrcaError,
    ProviderError,
    ProviderTimeoutError,
    RateLimitError,
    StoreError,
)
from orca.interfaces.cli.i18n import t


def advice(error: OrcaError, settings: Settings) -> str:
    """Return the error on one line, with what to do about it."""
    what = " ".join(str(error).split()).rstrip(".")
    todo = _todo(error, settings)
    return f"{what}. {todo}" if todo else what


def _todo(error: OrcaError, settings: Settings) -> str:
    path = settings.home / "config.toml"
    if isinstance(error, ContextOverflowError):
        return t("Set [llm] window_tokens in {path} to what the model really has.", path=path)
    if isinstance(error, StoreError):
        return t("See: orca status")
    if isinstance(error, RateLimitError):
        if error.retry_after:
            return t("Type /retry in {n:.0f} s.", n=max(error.retry_after, 1))
        return t("Wait a little, then type /retry.")
    if isinstance(error, ProviderError):
        return _provider(error, path=str(path))
    return ""


def _provider(error: ProviderError, *, path: str) -> str:
    cause = error.__cause__
    if isinstance(cause, APIStatusError):
        if cause.status_code in (401, 403):
            return t("Set SILICONFLOW_API_KEY, or api_key in {path}.", path=path)
        if cause.status_code == 404:
            return t("Try another /model, or mend [llm] in {path}.", path=path)
        if cause.status_code >= 500:
            return t("It is their fault; type /retry.")
    if isinstance(error, ProviderTimeoutError) or isinstance(cause, APITimeoutError):
        return t("Type /retry, or raise [llm] timeout_seconds in {path}.", path=path)
    if isinstance(cause, APIConnectionError):
        return t("Is the model server running? Mend [llm] base_url in {path}, or type /retry.", path=path)
    if error.refused:
        return t("The model does not take this; try another /model.")
    return t("Type /retry to ask again.")
