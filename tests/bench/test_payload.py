import zlib
from pathlib import Path

import pytest

from bench import payload


@pytest.mark.parametrize("size", [200, 1024, 10 * 1024])
def test_documents_have_their_size_and_do_not_compress_to_nothing(size: int) -> None:
    documents = [payload.compact(document).encode() for document in payload.documents(size, 20)]
    assert {len(document) for document in documents} == {size}
    assert len(set(documents)) == 20
    assert all(len(zlib.compress(document)) > size / 2 for document in documents)


def test_every_system_is_given_the_same_documents(tmp_path: Path) -> None:
    file = payload.write(1024, tmp_path)
    assert payload.read(file) == payload.documents(1024) == payload.documents(1024)


def test_a_size_that_no_document_has_is_refused() -> None:
    with pytest.raises(ValueError, match="no document has 10 bytes: the smallest has 4"):
        payload.documents(10)
