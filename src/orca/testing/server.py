"""An OpenAI-compatible server on loopback that misbehaves by script."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from typing import Any, Self

from orca.testing.doubles import fake_vector


@dataclass(frozen=True, slots=True)
class Request:
    """What ``ScriptedServer`` received: ``body`` is the parsed JSON (None where there was none)."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    raw: bytes

    @property
    def texts(self) -> list[str]:
        """The inputs of an embedding request, or the documents of a request to rerank."""
        given = self.body["documents"] if "documents" in self.body else self.body["input"]
        return [given] if isinstance(given, str) else given


@dataclass(frozen=True, slots=True)
class Reply:
    """What ``ScriptedServer`` answers.

    ``body`` is bytes, a text, or a value to send as JSON. A list of chunks in ``stream`` is sent piece by piece
    instead (bytes as they are, texts as UTF-8, other values as ``data:`` events); an ``Event`` among them is waited
    for. ``wait`` holds the whole answer back until it is set; ``hang`` never answers.
    """

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: threading.Event | None = None
    hang: bool = False
    stream: Sequence[Any] | None = None


Answer = Reply | Callable[[Request], Reply | None]


class ScriptedServer:
    """An OpenAI-compatible server on loopback, in this process, that does what a test tells it to.

    Unscripted, it embeds as ``FakeEmbedder`` does, with SiliconFlow's refusals (more than ``max_inputs`` texts: 413,
    code 20042; an empty text: 400, code 20015), reranks by the same vectors' cosine, and answers chats with ``"ok"``. ``script`` puts answers in front of
    that, one per request; a function may return None to leave a request to the default. ``requests`` records all.

    ::

        with ScriptedServer() as server:
            server.script(Reply(status=429, headers={"Retry-After": "2"}))
            embedder = OpenAICompatibleEmbedder(base_url=server.base_url, model="m", dimensions=1024)
    """

    def __init__(self, *, dimensions: int = 1024, max_inputs: int = 64) -> None:
        self.dimensions = dimensions
        self.max_inputs = max_inputs
        self.requests: list[Request] = []
        self._script: deque[Answer] = deque()
        self._otherwise: Callable[[Request], Reply | None] | None = None
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self.received = threading.Condition(self._lock)
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.scripted = self
        self._thread = threading.Thread(
            target=self._http.serve_forever,
            kwargs={"poll_interval": 0.01},
            name="scripted-server",
            daemon=True,
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def base_url(self) -> str:
        """The address as clients want it."""
        return f"{self.url}/v1"

    def otherwise(self, answer: Callable[[Request], Reply | None]) -> None:
        """Let a function answer whatever the script does not; None leaves a request to the default.

        For conversations whose requests come in an order that is not fixed, such as those of parallel sub-agents.
        """
        self._otherwise = answer

    def script(self, *answers: Answer) -> None:
        """Add answers to the next requests, in order."""
        with self._lock:
            self._script.extend(answers)

    def wait_for_requests(self, count: int, *, timeout: float = 10.0) -> bool:
        """Wait until ``count`` requests have arrived in all; return whether they have."""
        with self.received:
            return self.received.wait_for(lambda: len(self.requests) >= count, timeout)

    def items(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """Return the ``data`` of an embedding answer to ``texts``, to be bent by a script."""
        return [
            {"object": "embedding", "index": index, "embedding": fake_vector(text, self.dimensions).tolist()}
            for index, text in enumerate(texts)
        ]

    def results(self, query: str, texts: Sequence[str]) -> list[dict[str, Any]]:
        """Return the ``results`` of an answer to a request to rerank, best first, to be bent by a script."""
        asked = fake_vector(query, self.dimensions)
        scores = [max(0.0, float(asked @ fake_vector(text, self.dimensions))) for text in texts]
        best = sorted(range(len(texts)), key=lambda index: (-scores[index], index))
        return [{"index": index, "relevance_score": scores[index]} for index in best]

    def answer(self, request: Request) -> Reply:
        """Record a request and return its answer."""
        with self.received:
            self.requests.append(request)
            answer = self._script.popleft() if self._script else self._otherwise
            self.received.notify_all()
        if callable(answer):
            answer = answer(request)
        return answer or self._default(request)

    def close(self) -> None:
        """Stop, cut what is still open, and wait for every thread. Closing twice is fine."""
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._http.cut()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _default(self, request: Request) -> Reply:
        if request.method == "POST" and request.path == "/v1/chat/completions":
            return chat_reply("ok")
        if request.method != "POST" or request.path not in ("/v1/embeddings", "/v1/rerank"):
            return Reply({"error": {"message": f"no such path: {request.path}"}}, status=404)
        texts = request.texts
        if len(texts) > self.max_inputs:
            return Reply({"code": 20042, "message": f"at most {self.max_inputs} inputs"}, status=413)
        if not texts or not all(texts):
            return Reply({"code": 20015, "message": "empty input"}, status=400)
        if request.path == "/v1/rerank":
            return Reply({"id": "rerank-1", "results": self.results(request.body["query"], texts)})
        return Reply({"object": "list", "model": request.body.get("model"), "data": self.items(texts)})


def chat_reply(text: str | None, *, finish_reason: str = "stop", **message: Any) -> Reply:
    """Return a chat completion's answer; further fields (``tool_calls``, ``reasoning_content``) join the message."""
    said = {"role": "assistant", "content": text, **message}
    choice = {"index": 0, "message": said, "finish_reason": finish_reason}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return Reply({"id": "chat-1", "object": "chat.completion", "choices": [choice], "usage": usage})


class _Server(ThreadingHTTPServer):
    scripted: ScriptedServer

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._open: dict[threading.Thread, socket] = {}

    def process_request(self, request: Any, client_address: Any) -> None:
        # The base class either forgets its threads or lets them keep the process alive; tests want neither.
        thread = threading.Thread(
            target=self.process_request_thread,
            args=(request, client_address),
            name="scripted-request",
            daemon=True,
        )
        self._open = {known: sock for known, sock in self._open.items() if known.is_alive()} | {
            thread: request
        }
        thread.start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that went away is what many tests are about."""

    def cut(self) -> None:
        for thread, sock in self._open.items():
            try:
                sock.shutdown(SHUT_RDWR)
            except OSError:  # closed already
                continue
            finally:
                thread.join(timeout=5)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = None
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, body, raw)
        scripted = self.server.scripted
        reply = scripted.answer(request)
        if reply.hang:
            scripted.closing.wait()
            return
        if reply.wait is not None:
            self._wait(reply.wait)
        self._send(reply)

    def do_GET(self) -> None:
        self.do_POST()

    def _wait(self, event: threading.Event) -> None:
        while not event.wait(0.01) and not self.server.scripted.closing.is_set():
            pass

    def _send(self, reply: Reply) -> None:
        data = _encoded(reply.body)
        kind = "text/event-stream" if reply.stream is not None else "application/json"
        headers = {"Content-Type": kind, **reply.headers}
        if reply.stream is None:
            headers.setdefault("Content-Length", str(len(data)))
        self.send_response_only(reply.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        for chunk in [data] if reply.stream is None else reply.stream:
            if isinstance(chunk, threading.Event):
                self._wait(chunk)
                continue
            self.wfile.write(_encoded(chunk, event=True))
            self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


def _encoded(value: Any, *, event: bool = False) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    text = json.dumps(value)  # NaN too, as careless servers send it
    return f"data: {text}\n\n".encode() if event else text.encode()
