"""What no client library sends, byte by byte, to a real server."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator

import pytest

from orca import Scope, open_memory
from orca.interfaces.web.app import create_app

from .conftest import API, PLENTY, served

SECONDS = 30
FORM = "Content-Type: application/x-www-form-urlencoded"

Send = Callable[..., "Answer"]


class Answer:
    """An answer's status, head and body."""

    def __init__(self, data: bytes) -> None:
        head, _, body = data.partition(b"\r\n\r\n")
        self.status = int(head.split(b" ")[1])
        self.head = head.decode("latin-1")
        self.body = body.decode("utf-8", "replace")


@pytest.fixture(scope="module")
def send() -> Iterator[Send]:
    """Sends a request with exactly these headers to a server over one session named ``a/b %\\n🐋``."""
    with open_memory(":memory:", embedder=None, chat_model=None) as memory:
        memory.observe(scope=Scope(session="a/b %\n🐋"), role="user", content="hello")
        with served(create_app(memory, limits=PLENTY)) as address:
            port = int(address.rpartition(":")[2])

            def ask(
                method: str, path: str, *headers: str, host: str | None = None, body: bytes = b""
            ) -> Answer:
                lines = [f"{method} {path} HTTP/1.1", "Connection: close", *headers]
                if host is None:
                    lines.insert(1, f"Host: 127.0.0.1:{port}")
                elif host:
                    lines.insert(1, f"Host: {host}")
                data = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
                with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
                    connection.sendall(data)
                    parts = []
                    while part := connection.recv(65536):
                        parts.append(part)
                return Answer(b"".join(parts))

            yield ask


@pytest.mark.case(9)
@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "127.0.0.1@evil.example", "evil.example@127.0.0.1",
        "127.0.0.1, evil.example", "127.0.0.1:8420:1", "127.0.0.1:abc", "127.0.0.1/", "127.0.0.1#", "127.1", "2130706433",
        "0x7f000001", "0177.0.0.1", "0.0.0.0", "[::]", "::1", "[::1%25lo]", "[::1%lo]", "[::ffff:8.8.8.8]", "192.168.1.1",
        "\xff",
    ],
)  # fmt: skip
def test_a_name_that_is_not_ours_is_refused(send: Send, host: str) -> None:
    assert send("GET", f"{API}/status", host=host).status == 403


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.2", "[::1]", "[::1]:8420"])
def test_every_way_to_name_this_machine_serves(send: Send, host: str) -> None:
    assert send("GET", f"{API}/status", host=host).status == 200


@pytest.mark.case(9)
def test_a_request_names_one_host(send: Send) -> None:
    assert send("GET", "/", host="").status == 400
    assert send("GET", "/", "Host: evil.example").status in (400, 403)
    assert send("GET", "http://evil.example/api/v1/status").status == 404  # the address is not the name


def test_a_body_beyond_the_limit_is_refused_however_it_comes(send: Send) -> None:
    assert send("POST", f"{API}/memories", "Content-Length: 2000000").status == 413
    size = PLENTY.body_bytes + 1  # not a byte more is sent: what stays unread would cost the answer
    chunk = b"%x\r\n" % size + b"a" * size
    assert send("POST", f"{API}/memories", "Transfer-Encoding: chunked", body=chunk).status == 413


@pytest.mark.parametrize("length", ["-1", "+5", "5, 6", "0x5", "\xb2"])
def test_an_odd_length_is_refused(send: Send, length: str) -> None:
    assert send("POST", f"{API}/memories", f"Content-Length: {length}", body=b"aaaaa").status in (
        400,
        403,
        413,
    )


@pytest.mark.case(9)
def test_a_writes_token_counts_only_where_it_belongs(send: Send) -> None:
    def visit() -> tuple[str, str]:
        page = send("GET", "/jobs")
        cookie = re.search(r"set-cookie: (orca_session_\d+=[^;]+)", page.head)
        token = re.search(r'name="csrf-token" content="(\w+)"', page.body)
        assert cookie
        assert token
        return cookie[1], token[1]

    def write(cookie: str, body: str, path: str = "/jobs/retry", kind: str = FORM) -> int:
        data = body.encode()
        headers = (f"Cookie: {cookie}", kind, f"Content-Length: {len(data)}")
        return send("POST", path, *headers, body=data).status

    (mine, token), (_, other) = visit(), visit()
    assert write(mine, f"csrf_token={token}") == 303
    assert write(mine, f"csrf_token={other}") == 403
    assert write(mine, f"csrf_token=x&csrf_token={token}") == 403
    assert write(mine, "", path=f"/jobs/retry?csrf_token={token}") == 403
    assert write("a=b", f"csrf_token={token}") == 403
    multipart = f'--x\r\nContent-Disposition: form-data; name="csrf_token"\r\n\r\n{token}\r\n--x--\r\n'
    assert write(mine, multipart, kind="Content-Type: multipart/form-data; boundary=x") == 403


@pytest.mark.parametrize(
    "path",
    [
        "/?lang=zh%0d%0aX-Evil:1", "/?theme=dark%0d%0aX-Evil:1", "/?user=%0d%0aX-Evil:1", "/login?next=/%0d%0aX-Evil:1",
        "/messages/1?user=%0d%0aX-Evil:1", "/?notice=deleted&count=1%0d%0aX-Evil:1", "/sessions/%0d%0aX-Evil:1",
    ],
)  # fmt: skip
def test_no_text_of_a_request_becomes_a_header(send: Send, path: str) -> None:
    assert "\r\nx-evil" not in send("GET", path).head.lower()


@pytest.mark.case(13)
@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/%5c..%5capp.py", "/static//etc/passwd",
        "/static/%00", "/sessions/..%2f..%2fetc", "/sessions/%00", "/sessions/%ff", "/sessions/a%2Fb", "/login/../jobs",
        "/loginx", "//evil.example/", "/runs/%d9%a1", f"/sessions/{'a' * 9000}", f"{API}/sessions/%2e%2e/messages",
        "/memories/99999999999999999999", "/memories/-1", "/sessions?cursor=%00", "/sessions/x?on=0001-01-01",
    ],
)  # fmt: skip
def test_paths_and_ids_lead_nowhere_else(send: Send, path: str) -> None:
    answer = send("GET", path)
    assert answer.status in (404, 422)
    assert "def create_app" not in answer.body
    assert "root:" not in answer.body


@pytest.mark.case(13)
def test_a_session_of_any_name_is_read_renamed_and_exported(send: Send) -> None:
    listed = send("GET", "/sessions").body
    link = re.search(r'href="(/sessions/[^"?]+)"><bdi>a/b', listed)
    assert link
    assert "hello" in send("GET", link[1]).body
    exported = send("GET", f"{API}/export/messages?session=a%2Fb%20%25%0A%F0%9F%90%8B")
    assert exported.status == 200
    assert "hello" in exported.body
