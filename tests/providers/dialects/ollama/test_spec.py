import pytest

from yourtool.providers.dialects.ollama.spec import parse_ollama_host


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("", ""),
        ("localhost", "http://localhost:11434"),
        (" 'gpu' ", "http://gpu:11434"),
        ("gpu:8080", "http://gpu:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:80", "http://127.0.0.1:80"),
        ("[::]:9", "http://[::1]:9"),
        ("::1", "http://[::1]:11434"),
        ("http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434"),
        ("https://gpu.example", "https://gpu.example"),
        ("https://gpu.example/ollama", "https://gpu.example/ollama"),
        ("gpu.example/ollama", "http://gpu.example:11434/ollama"),
        ("gpu:port", "gpu:port"),
    ],
)
def test_every_form_of_ollama_host_becomes_a_base_url(value, url):
    assert parse_ollama_host(value) == url
