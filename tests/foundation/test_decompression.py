import gzip
import zlib

import pytest

from yourtool.foundation.decompression import MAX_PIECE_BYTES, CompressionError, decompress

TEXT = b"".join(b"line %d\n" % number for number in range(100_000))


async def body(data, size=65_536):
    for at in range(0, len(data), size):
        yield data[at : at + size]


async def pieces_of(data, encoding, size=65_536, limit=None):
    return [piece async for piece in decompress(body(data, size), encoding, limit)]


@pytest.mark.parametrize("size", [1_000, 65_536, 10**7])
@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "x-gzip", "identity, gzip"])
async def test_gzip_is_decompressed_with_chunks_of_any_size(encoding, size):
    assert b"".join(await pieces_of(gzip.compress(TEXT), encoding, size)) == TEXT


@pytest.mark.parametrize("encoding", ["", "identity"])
async def test_an_uncompressed_body_is_unchanged(encoding):
    assert b"".join(await pieces_of(TEXT, encoding)) == TEXT


async def test_no_step_yields_more_than_one_piece():
    pieces = await pieces_of(gzip.compress(bytes(20 * MAX_PIECE_BYTES + 1)), "gzip", 10**7)
    assert max(map(len, pieces)) == MAX_PIECE_BYTES
    assert sum(map(len, pieces)) == 20 * MAX_PIECE_BYTES + 1


@pytest.fixture
def large():
    return gzip.compress(bytes(50_000_000))


async def test_nothing_is_decompressed_beyond_the_limit(large):
    taken = []

    async def counted():
        async for chunk in body(large, 1_000):
            taken.append(chunk)
            yield chunk

    pieces = [piece async for piece in decompress(counted(), "gzip", limit=3 * MAX_PIECE_BYTES)]
    assert len(pieces) <= 5
    assert len(taken) == 1


@pytest.mark.parametrize("encoding", ["gzip, gzip", "gzip,identity,deflate", "gzip, br"])
async def test_layers_of_compression_are_refused(encoding):
    with pytest.raises(CompressionError, match="more than once"):
        await pieces_of(gzip.compress(gzip.compress(TEXT)), encoding)


async def test_an_unsupported_compression_is_refused_by_name():
    with pytest.raises(CompressionError, match="`br`"):
        await pieces_of(TEXT, "br")


async def test_damaged_compressed_data_is_an_error():
    with pytest.raises(CompressionError, match="damaged"):
        await pieces_of(zlib.compress(TEXT), "gzip")


async def test_data_after_the_compressed_data_is_ignored():
    assert b"".join(await pieces_of(gzip.compress(b"a") + b"junk" * 9, "gzip", 7)) == b"a"
