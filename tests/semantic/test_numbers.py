import math

import pytest

from kb_search.errors import EmbedderFailed
from kb_search.semantic.numbers import unit_vectors


def test_vectors_come_out_with_length_one():
    (vector,) = unit_vectors([[3.0, 4.0]], count=1, dimension=2)
    assert vector == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ([[math.nan, 1.0]], "NaN"),
        ([[math.inf, 1.0]], "NaN"),
        ([[0.0, 0.0]], "zeros"),
        ([[1.0, 2.0, 3.0]], "3 numbers instead of 2"),
        ([[]], "0 numbers instead of 2"),
        ([], "0 vectors for 1"),
        ([[1.0, 0.0], [0.0, 1.0]], "2 vectors for 1"),
        (None, "something else"),
        (["ab"], "something else"),
        ([[None, 1.0]], "something else"),
        ([{"a": 1, "b": 2}], "something else"),
    ],
)
def test_what_is_no_vector_is_refused(answer, told):
    with pytest.raises(EmbedderFailed, match=told) as failure:
        unit_vectors(answer, count=1, dimension=2)
    assert failure.value.reason == "bad answer"
