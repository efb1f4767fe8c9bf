"""Codes and the index over them, against brute force: no database anywhere."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from orca.stores import _code_index, _hamming
from orca.stores._code_index import CodeIndex, Entries
from orca.stores._quantizer import Quantizer

WIDTHS = [384, 512, 768, 1024, 1536]


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def random_vectors(seed: int, count: int, dimensions: int) -> np.ndarray:
    return unit(np.random.default_rng(seed).normal(size=(count, dimensions)))


def entries(coder: Quantizer, ids, vectors: np.ndarray, owner: int = 1, session: int = 1) -> Entries:
    codes, scales = coder.encode(vectors)
    return Entries(
        ids=np.array(ids, dtype=np.int64),
        owners=np.full(len(ids), owner, dtype=np.int64),
        sessions=np.full(len(ids), session, dtype=np.int64),
        codes=codes,
        scales=scales,
    )


@given(st.integers(1, 5), st.integers(0, 40), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_numpy_and_the_vector_instructions_count_the_same_bits(queries, rows, words, seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 256, (queries, 8 * words), dtype=np.uint8)
    second = rng.integers(0, 256, (rows, 8 * words), dtype=np.uint8)
    expected = np.bitwise_count(first[:, np.newaxis] ^ second).sum(axis=2, dtype=np.int64)
    assert np.array_equal(_hamming.hamming(first, second), expected)
    assert np.array_equal(_hamming.numpy_hamming(first, second), expected)


def test_comparing_codes_uses_up_no_references_to_none():
    codes = np.zeros((4, 64), dtype=np.uint8)
    before = sys.getrefcount(None)
    for _ in range(2_000):
        _hamming.hamming(codes, codes)
    assert sys.getrefcount(None) > before - 1_000


@pytest.mark.parametrize("dimensions", [64, 65, 127, *WIDTHS])
def test_the_rotation_keeps_lengths_and_angles(dimensions):
    rotated = Quantizer(dimensions)._rotate(np.eye(dimensions, dtype=np.float32))
    assert np.allclose(rotated @ rotated.T, np.eye(dimensions), atol=1e-4)


@pytest.mark.parametrize("dimensions", WIDTHS)
@pytest.mark.parametrize("kind", ["dense", "one number each", "all positive"])
def test_estimates_err_as_much_as_is_said_whatever_the_vectors_are(dimensions, kind):
    vectors = {
        "dense": lambda: random_vectors(1, 300, dimensions),
        "one number each": lambda: np.eye(dimensions, dtype=np.float32)[:300],
        "all positive": lambda: unit(np.abs(random_vectors(1, 300, dimensions))),
    }[kind]()
    coder = Quantizer(dimensions)
    codes, scales = coder.encode(vectors)
    planes = codes.reshape(len(codes), coder.planes, coder.plane_bytes).transpose(1, 0, 2)
    errors = [
        coder.estimate(coder.encode_query(query), planes, scales) - vectors @ query
        for query in random_vectors(2, 20, dimensions)
    ]
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(coder.error, rel=0.25)


def test_narrow_vectors_get_more_bits_a_number():
    assert [Quantizer(width).planes for width in WIDTHS] == [4, 3, 2, 2, 1]
    assert all(Quantizer(width).code_bytes <= 256 for width in WIDTHS)


def test_the_same_vector_has_the_same_code_in_every_batch():
    vectors = random_vectors(3, 50, 512)
    coder = Quantizer(512)
    together, _ = coder.encode(vectors)
    alone = np.concatenate([coder.encode(vector[np.newaxis])[0] for vector in vectors])
    # A number on the edge between two levels may fall to either side.
    assert np.bitwise_count(together ^ alone).sum() <= 5


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few rows, and signs that decide from a few rows on."""
    monkeypatch.setattr(_code_index, "BLOCK_ROWS", 64)
    monkeypatch.setattr(_code_index, "FIRST_ROWS", 4)
    monkeypatch.setattr(_code_index, "ESTIMATED", 200)
    monkeypatch.setattr(_code_index, "THREADED_ROWS", 300)


def test_the_nearest_of_many_pass_the_signs(small_blocks):
    centres = random_vectors(5, 40, 512)
    rng = np.random.default_rng(6)
    vectors = unit(centres[rng.integers(0, 40, 4_000)] + 0.05 * rng.normal(size=(4_000, 512)))
    coder = Quantizer(512)
    index = CodeIndex(coder)
    for start in range(0, 4_000, 170):
        part = vectors[start : start + 170]
        index.put(entries(coder, range(start, start + len(part)), part))
    for query in vectors[:20]:
        found, estimates = index.search(coder.encode_query(query), index.in_scope("owner", 1), limit=50)
        cosines = vectors @ query
        assert set(np.argsort(-cosines)[:10].tolist()) <= set(found.tolist())
        assert estimates == pytest.approx(cosines[found], abs=6 * coder.error)
        assert np.all(np.diff(estimates) <= 0)


def test_a_removed_code_is_overwritten():
    coder = Quantizer(512)
    index = CodeIndex(coder)
    index.put(entries(coder, range(1, 11), random_vectors(1, 10, 512)))
    index.remove(np.array([4]))
    block = index._blocks[0]
    assert not block.planes[:, 3].any()
    assert block.scales[3] == 0
    assert block.planes[:, 2].any()
    assert len(index) == 9


def test_what_removed_rows_take_is_given_back(small_blocks):
    coder = Quantizer(128)
    index = CodeIndex(coder)
    index.put(entries(coder, range(1_000), random_vectors(1, 1_000, 128)))
    index.remove(np.arange(990))
    assert sum(block.used for block in index._blocks) < 500
    assert sorted(index.in_scope("owner", 1).ids.tolist()) == list(range(990, 1_000))


DIMENSIONS = 64
CODER = Quantizer(DIMENSIONS)
VECTORS = random_vectors(9, 60, DIMENSIONS)
IDS = st.lists(st.integers(0, 59), min_size=1, max_size=12, unique=True)


class IndexMachine(RuleBasedStateMachine):
    """An index is what a dictionary of its rows would be, however rows come and go."""

    def __init__(self) -> None:
        super().__init__()
        self.index = CodeIndex(CODER)
        self.rows: dict[int, tuple[int, int, int]] = {}

    @rule(ids=IDS, owner=st.integers(1, 2), session=st.integers(1, 3), turn=st.integers(0, 59))
    def put(self, ids, owner, session, turn):
        chosen = [(number + turn) % 60 for number in ids]
        self.index.put(entries(CODER, ids, VECTORS[chosen], owner, session))
        self.rows |= {number: (vector, owner, session) for number, vector in zip(ids, chosen, strict=True)}

    @rule(ids=IDS)
    def remove(self, ids):
        self.index.remove(np.array(ids))
        for number in ids:
            self.rows.pop(number, None)

    @rule(query=st.integers(0, 59), column=st.sampled_from(["owner", "session"]), number=st.integers(1, 3))
    def search(self, query, column, number):
        place = 1 if column == "owner" else 2
        members = {row: held[0] for row, held in self.rows.items() if held[place] == number}
        scope = self.index.in_scope(column, number)
        assert sorted(scope.ids.tolist()) == sorted(members)
        code = CODER.encode_query(VECTORS[query])
        ids, estimates = self.index.search(code, scope, limit=5)
        codes, scales = CODER.encode(VECTORS[list(members.values())])
        planes = codes.reshape(len(codes), CODER.planes, CODER.plane_bytes).transpose(1, 0, 2)
        every = CODER.estimate(code, planes, scales)
        expected = sorted(zip(-every, members, strict=True))[:5]
        assert estimates == pytest.approx([-value for value, _ in expected], abs=1e-5)
        assert set(ids.tolist()) <= set(members)

    @rule(ids=IDS)
    def find(self, ids):
        assert sorted(self.index.with_ids(np.array(ids)).ids.tolist()) == sorted(set(ids) & set(self.rows))

    @invariant()
    def the_size_is_right(self):
        assert len(self.index) == len(self.rows)


def test_an_index_is_a_dictionary_of_its_rows(small_blocks, monkeypatch):
    monkeypatch.setattr(_code_index, "BLOCK_ROWS", 16)
    case = IndexMachine.TestCase
    case.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
    case("runTest").runTest()
