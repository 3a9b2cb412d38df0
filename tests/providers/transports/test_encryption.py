"""Requests over `https:` in another process, which reads the certificates from a file."""

import datetime
import os
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

REQUESTS = """
import asyncio, sys
from yourtool.errors import NetworkError
from yourtool.providers.transports.http import HttpTransport

async def ask():
    transport = HttpTransport(sys.argv[1], {"x-api-key": "k"})
    for _ in range(2):
        try:
            async with transport.post("/v1/x", b'{"a": 1}') as reply:
                print(reply.status, (await reply.read()).decode())
        except NetworkError as error:
            print(error)
    await transport.close()

asyncio.run(ask())
"""

CANCELLED = """
import asyncio, sys
from yourtool.providers.transports.http import HttpTransport

async def ask(body):
    transport = HttpTransport(sys.argv[1], {"x-api-key": "k"})
    try:
        async with transport.post("/v1/x", body) as reply:
            return (await reply.read()).decode()
    finally:
        await transport.close()

async def main():
    await ask(b"reads the certificates")
    for number in range(60):
        sending = asyncio.create_task(ask(b"cancelled"))
        await asyncio.sleep(number / 10_000)
        sending.cancel()
        await asyncio.wait([sending])
        print(await ask(b"%d" % number))

asyncio.run(main())
"""


class Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        answer = b"%s %s %d" % (self.headers["x-api-key"].encode(), body, self.client_address[1])
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Return the file of a certificate for `localhost` and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("certificate") / "both.pem"
    pem = serialization.Encoding.PEM
    form, none = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path.write_bytes(built.public_bytes(pem) + key.private_bytes(pem, form, none))
    return path


@pytest.fixture
def port(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with HTTPServer(("127.0.0.1", 0), Echo) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def ask(url, authorities, requests=REQUESTS):
    env = {**os.environ, "SSL_CERT_FILE": str(authorities)} if authorities else os.environ
    command = (sys.executable, "-X", "dev", "-c", requests, url)
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    slow = "Executing <"  # how long a step took, which the load of the machine decides
    assert not [each for each in done.stderr.splitlines() if not each.startswith(slow)]
    return done.stdout.splitlines()


def test_requests_are_encrypted_and_use_one_connection(certificate, port):
    first, second = ask(f"https://localhost:{port}", certificate)
    assert first == second
    assert first.startswith('200 k {"a": 1} ')


def test_certificate_of_an_unknown_authority_is_refused(port):
    for line in ask(f"https://localhost:{port}", None):
        assert line.startswith(f"`localhost:{port}` could not be reached: ")
        assert "CERTIFICATE_VERIFY_FAILED" in line


def test_certificate_for_another_host_is_refused(certificate, port):
    for line in ask(f"https://127.0.0.1:{port}", certificate):
        assert "IP address mismatch" in line


def test_error_names_the_variable_of_certificates_that_cannot_be_read(port, tmp_path):
    for line in ask(f"https://localhost:{port}", tmp_path / "missing.pem"):
        assert "the certificates of `SSL_CERT_FILE` cannot be read: " in line


@pytest.mark.remaining
def test_request_that_is_cancelled_at_any_time_leaves_no_connection_open(certificate, port):
    answers = ask(f"https://localhost:{port}", certificate, CANCELLED)
    assert [line.split()[1] for line in answers] == [str(number) for number in range(60)]
