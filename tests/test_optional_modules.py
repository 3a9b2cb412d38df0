"""The interface is imported without OpenSSL, which it gets when it is needed."""

import subprocess
import sys

WITHOUT = """
import sys
from yourtool.optional_modules import use_openssl, without_optional_modules

with without_optional_modules():
    import asyncio
    import hashlib
before = hashlib.sha256(b"text").hexdigest()
print(*sorted({"_ssl", "_hashlib"} & sys.modules.keys()))
"""
HASHES = """
use_openssl()
use_openssl()
print(hashlib.sha256(b"text").hexdigest() == before, "openssl" in hashlib.sha256.__name__)
"""
ENCRYPTED = """
import ssl

def context(purpose):
    made = ssl.SSLContext(purpose)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    made.maximum_version = ssl.TLSVersion.TLSv1_2
    made.set_ciphers("aNULL:@SECLEVEL=0")  # needs no certificate
    return made

async def greet(reader, writer):
    writer.write(b"hello")
    writer.close()

async def talk():
    server = await asyncio.start_server(
        greet, "127.0.0.1", 0, ssl=context(ssl.PROTOCOL_TLS_SERVER)
    )
    async with server:
        port = server.sockets[0].getsockname()[1]
        client = context(ssl.PROTOCOL_TLS_CLIENT)
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client)
        print((await reader.read()).decode(), writer.get_extra_info("cipher") is not None)
        writer.close()

use_openssl()
asyncio.run(talk())
"""


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stderr
    return done.stdout.splitlines()


def test_hashes_are_those_of_openssl_when_it_is_used():
    assert run(WITHOUT + HASHES) == ["", "True True"]


def test_encrypted_connections_work_when_openssl_is_used():
    assert run(WITHOUT + ENCRYPTED) == ["", "hello True"]


PALETTE = """
from yourtool.optional_modules import without_optional_modules

with without_optional_modules():
    from yourtool.tui.app import YourtoolApp
import sys
unused = ("_directory_tree", "_option_list", "_select", "_tree")
print(*(each for each in unused if f"textual.widgets.{each}" in sys.modules))
print(YourtoolApp.ENABLE_COMMAND_PALETTE)
from textual.command import CommandPalette
print(CommandPalette.__mro__[-2].__name__)
"""


def test_the_palette_that_is_off_is_not_imported_until_someone_needs_it():
    assert run(PALETTE) == ["", "False", "MessagePump"]


LIBRARIES = """
import sys
from yourtool.optional_modules import import_libraries

import_libraries()
print(*sorted({"bz2", "lzma", "typing_extensions"} & sys.modules.keys()))
import bz2, lzma, msgspec, typing_extensions
from typing import NotRequired, TypedDict

class Row(TypedDict):
    name: str
    size: NotRequired[int]

print(msgspec.convert({"name": "a"}, Row), bz2.decompress(bz2.compress(b"b")))
import_libraries()
print(sys.modules["bz2"] is bz2)
"""


def test_libraries_are_imported_without_what_only_makes_them_larger():
    assert run(LIBRARIES) == ["", "{'name': 'a'} b'b'", "True"]
