"""What went wrong with a provider, in one line that says what to do."""

from __future__ import annotations

from openai import APIConnectionError, APIStatusError

from orca.config import Settings
from orca.errors import (
    ContextOverflowError,
    OrcaError,
    ProviderError,
    ProviderTimeoutError,
    RateLimitError,
    StoreUnavailableError,
)
from orca.interfaces.cli.i18n import t


def advice(error: OrcaError, settings: Settings, *, chat: bool = True) -> str:
    """Return the error on one line, with what to do about it; in a chat, that may be a slash command."""
    what = " ".join(str(error).split()).rstrip(".")
    todo = [_todo(error, str(settings.home / "config.toml"))]
    if chat and isinstance(error, ProviderError) and _may_pass(error):
        todo.append(t("/retry asks again."))
    return f"{what}. {' '.join(filter(None, todo))}" if any(todo) else what


def _todo(error: OrcaError, path: str) -> str:
    cause = error.__cause__
    status = cause.status_code if isinstance(cause, APIStatusError) else None
    if isinstance(error, ContextOverflowError):
        return t("Set [llm] window_tokens in {path} to what the model really has.", path=path)
    if isinstance(error, StoreUnavailableError):
        return t("See: orca status")
    if isinstance(error, RateLimitError):
        return t("Wait {n:.0f} s.", n=max(error.retry_after, 1)) if error.retry_after else t("Wait a little.")
    if status in (401, 403):
        return t("Set SILICONFLOW_API_KEY, or api_key in {path}.", path=path)
    if status == 404 or (isinstance(error, ProviderError) and error.refused):
        return t("Name another model, or mend [llm] in {path}.", path=path)
    if isinstance(error, ProviderTimeoutError):
        return t("[llm] timeout_seconds in {path} says how long to wait.", path=path)
    if isinstance(cause, APIConnectionError):
        return t("Is the model server running? Its address is [llm] base_url in {path}.", path=path)
    return ""


def _may_pass(error: ProviderError) -> bool:
    """Whether the same question may be answered later."""
    cause = error.__cause__
    refused = isinstance(cause, APIStatusError) and cause.status_code in (401, 403, 404)
    return not (error.refused or refused)
