"""Running a model's tool calls: several at once, each to a result, whatever happens.

A call never ends the turn. A tool that is unknown, fails, times out or is refused gives a result that says so in
words, from which the model can go on.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import logging
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orca.agent.events import Event, ToolFinished, ToolProgress, ToolStarted
from orca.agent.model import ToolCall
from orca.agent.tools import Confirmation, Tool, ToolBox, ToolContext, bounded, result_text
from orca.errors import ToolError

logger = logging.getLogger("orca")

CANCELLED = "[cancelled: the turn was stopped before this call was done; it may have had effects]"
"""The stored result of a call that was under way, or had not begun, when its turn was stopped."""

STOP_SECONDS = 5.0
"""How long a stopped turn waits for tools that clean up after themselves."""

MAX_ERROR_CHARACTERS = 1_000
"""Longest reason in a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a call ended. ``ok`` is false for every result that reports a failure."""

    call: ToolCall
    text: str
    ok: bool = True


def parsed_arguments(call: ToolCall) -> dict[str, Any]:
    """Return a call's arguments. Raises ``ToolError`` with what is wrong with them."""
    try:
        value = json.loads(call.arguments)
    except (ValueError, RecursionError) as error:
        raise ToolError(
            f"the arguments are not JSON ({error}): {bounded(call.arguments, 200)}. Send one JSON object."
        ) from None
    if isinstance(value, str):  # encoded twice
        try:
            value = json.loads(value)
        except ValueError:
            value = None
    if not isinstance(value, dict):
        raise ToolError(f"the arguments are not a JSON object: {bounded(call.arguments, 200)}")
    return value


def stored_call(call: ToolCall) -> dict[str, Any]:
    """Return a call as it is stored and sent back.

    Several servers parse the arguments of old calls and fail on what is no JSON object. Such arguments are kept
    as the text they are inside of one.
    """
    try:
        parsed_arguments(call)
        arguments = call.arguments
    except ToolError:
        arguments = json.dumps({"unreadable_arguments": call.arguments}, ensure_ascii=False)
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name or "unnamed", "arguments": arguments},
    }


class ToolRunner:
    """Runs the calls of one agent's turn, at most ``limit`` at once."""

    def __init__(self, tools: ToolBox, context: ToolContext, *, limit: int) -> None:
        self._tools = tools
        self._context = context
        self._limit = limit
        self.finished: dict[str, Outcome] = {}
        """How the calls ended that are done, by id: what an interrupted turn can still store."""

    async def run(
        self, calls: Sequence[ToolCall], *, message_id: int | None
    ) -> AsyncGenerator[Event | Outcome, None]:
        """Yield events as they happen, and the outcomes in the order of the calls, each as soon as it is its turn.

        Closing the generator, or cancelling its task, stops the calls that are not done.
        """
        loop = asyncio.get_running_loop()
        happened: asyncio.Queue[Event | None] = asyncio.Queue()

        def publish(event: Event | None) -> None:
            try:
                loop.call_soon_threadsafe(happened.put_nowait, event)
            except RuntimeError:  # a thread that outlived its loop has nobody left to tell
                logger.debug("an event came after its loop was closed: %r", event)

        gate = asyncio.Semaphore(self._limit)
        tasks = [
            asyncio.create_task(self._guarded(call, message_id, gate, publish), name=f"tool {call.name}")
            for call in calls
        ]
        for task in tasks:
            task.add_done_callback(lambda _: publish(None))
        try:
            told = 0
            while told < len(tasks):
                event = await happened.get()
                if event is not None:
                    yield event
                while told < len(tasks) and tasks[told].done() and happened.empty():
                    yield _outcome(tasks[told], calls[told])
                    told += 1
        finally:
            for task in tasks:
                task.cancel()
            _, left = await asyncio.wait(tasks, timeout=STOP_SECONDS)
            for task in left:
                logger.warning("%s does not stop; it is left behind", task.get_name())

    async def _guarded(
        self,
        call: ToolCall,
        message_id: int | None,
        gate: asyncio.Semaphore,
        publish: Callable[[Event], None],
    ) -> Outcome:
        async with gate:
            context = replace(
                self._context,
                call_id=call.id,
                message_id=message_id if message_id is not None else self._context.message_id,
                emit=lambda text: publish(ToolProgress(call_id=call.id, name=call.name, text=text)),
                publish=publish,
                cancelled=threading.Event(),
            )
            try:
                outcome = await self._outcome(call, context, publish)
            except asyncio.CancelledError:
                context.cancelled.set()
                raise
            self.finished[call.id] = outcome
            publish(ToolFinished(call_id=call.id, name=call.name, result=outcome.text, ok=outcome.ok))
            return outcome

    async def _outcome(
        self, call: ToolCall, context: ToolContext, publish: Callable[[Event], None]
    ) -> Outcome:
        tool = self._tools.get(call.name)
        try:
            arguments = parsed_arguments(call)
            publish(ToolStarted(call_id=call.id, name=call.name, arguments=arguments))
            if tool is None:
                names = ", ".join(self._tools.names) or "none"
                raise ToolError(f"there is no tool {call.name!r}; there are: {names}")
            if tool.confirm and not await self._confirmed(tool, arguments, context):
                return Outcome(call=call, text="[refused] the user did not allow this call", ok=False)
            return Outcome(call=call, text=result_text(await self._call(tool, arguments, context)))
        except ToolError as error:
            return _failed(call, str(error))
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is a result, and logged
            logger.warning("tool %s failed: %r", call.name, error)
            return _failed(call, f"{type(error).__name__}: {error}")

    async def _confirmed(self, tool: Tool, arguments: Mapping[str, Any], context: ToolContext) -> bool:
        question = Confirmation(tool=tool.name, arguments=arguments, agent=context.agent, scope=context.scope)
        return await context.confirm(question)

    async def _call(self, tool: Tool, arguments: Mapping[str, Any], context: ToolContext) -> Any:
        try:
            async with asyncio.timeout(tool.timeout_seconds) as limit:
                if inspect.iscoroutinefunction(tool.handler):
                    return await tool.handler(arguments, context)
                value = await _in_thread(lambda: tool.handler(arguments, context), name=tool.name)
                return await value if inspect.isawaitable(value) else value
        except TimeoutError:
            if not limit.expired():  # the tool's own
                raise
            context.cancelled.set()
            raise ToolError(f"not done within {tool.timeout_seconds:g} seconds; stopped") from None


def _outcome(task: asyncio.Task[Outcome], call: ToolCall) -> Outcome:
    if task.cancelled():  # a tool that cancels itself
        return Outcome(call=call, text=CANCELLED, ok=False)
    return task.result()


def _failed(call: ToolCall, reason: str) -> Outcome:
    return Outcome(call=call, text=f"[error] {bounded(reason, MAX_ERROR_CHARACTERS)}", ok=False)


async def _in_thread(function: Callable[[], Any], *, name: str) -> Any:
    """Run a plain handler in a thread of its own.

    A daemon thread, unlike those of ``asyncio.to_thread``: a tool that hangs must keep neither the turn from
    being cancelled nor the process from ending.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: Any, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def work() -> None:
        value: Any = None
        failure: BaseException | None = None
        try:
            value = context.run(function)
        except StopIteration as error:  # a future cannot carry it
            failure = ToolError(f"StopIteration: {error}")
        except BaseException as error:  # noqa: BLE001 - handed to the task that waits for it
            failure = error
        try:
            loop.call_soon_threadsafe(settle, value, failure)
        except RuntimeError:  # the loop is closed: nobody waits any more
            logger.debug("tool %s was done after its turn", name)

    threading.Thread(target=work, name=f"tool {name}", daemon=True).start()
    return await future
