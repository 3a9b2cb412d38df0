"""An untrained model for a real `llama-server`, which always generates its script.

Each piece of a line is one token, and the weights lead from each token to the next: an
embedding is one number among zeros, attention and feed-forward are all zeros, so the last token
alone chooses what follows. The chat template chooses the line by ending in its first token.

The file is GGUF, version 3: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

ALIGNMENT = 32
HEADS = 4
NORMAL, CONTROL = 1, 3
"""Kinds of token."""
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
"""Kinds of value."""
Tensors: TypeAlias = dict[str, tuple[tuple[int, ...], bytes | bytearray]]
"""Shape, with the dimension that varies fastest first, and 32-bit numbers."""
TEMPLATE = """
{%- for tool in tools or [] %}<tool>{{ tool | tojson }}</tool>
{% endfor %}
{%- for message in messages %}<|begin|>{{ message.role }}
{% if message.content is string %}{{ message.content }}{% endif %}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|end|>
{% endfor %}
{%- if add_generation_prompt %}<|begin|>assistant
{% if messages[-1].role == "tool" or not tools %}<|done|>{% else %}<|call|>{% endif %}{% endif %}"""


def write_model(path: Path, *, call: Sequence[str], done: Sequence[str], context: int) -> None:
    """Write a model that generates `call` if it has tools, and `done` after a tool's result.

    No piece may occur twice, nor be a single byte.
    """
    kinds = dict.fromkeys(BYTES.values(), NORMAL)
    kinds |= dict.fromkeys(("<|end|>", "<|begin|>", "<|call|>", "<|done|>"), CONTROL)
    lines = [["<|call|>", *map(_spelled, call)], ["<|done|>", *map(_spelled, done)]]
    for line in lines:
        kinds |= dict.fromkeys(line[1:], NORMAL)
    tokens = list(kinds)
    follows = {
        tokens.index(one): tokens.index(other)
        for line in lines
        for one, other in zip(line, [*line[1:], "<|end|>"], strict=True)
    }
    width = -(-len(tokens) // ALIGNMENT) * ALIGNMENT
    end = tokens.index("<|end|>")
    facts = {
        "general.architecture": "llama",
        "general.name": path.stem,
        "llama.context_length": context,
        "llama.embedding_length": width,
        "llama.block_count": 1,
        "llama.feed_forward_length": ALIGNMENT,
        "llama.attention.head_count": HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": width // HEADS,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": list(kinds.values()),
        "tokenizer.ggml.merges": [f"{BYTES[0x20]} {BYTES[0x61]}"],
        "tokenizer.ggml.eos_token_id": end,
        "tokenizer.ggml.bos_token_id": end,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": TEMPLATE,
    }
    path.write_bytes(_gguf(facts, _weights(len(tokens), width, follows, end)))


def _bytes() -> dict[int, str]:
    """Return the letters for bytes in such a vocabulary (byte-level BPE, as in GPT-2).

    Printable bytes are themselves, the rest are the letters from U+0100.
    """
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(0x100) if byte not in seen]
    return {byte: chr(byte) for byte in seen} | {b: chr(0x100 + n) for n, b in enumerate(hidden)}


BYTES = _bytes()


def _spelled(piece: str) -> str:
    return "".join(BYTES[byte] for byte in piece.encode())


def _weights(size: int, width: int, follows: Mapping[int, int], end: int) -> Tensors:
    """Return the weights that lead each token to its successor, and all others to `end`."""
    embedding, output = bytearray(4 * size * width), bytearray(4 * size * width)
    for token in range(size):
        struct.pack_into("<f", embedding, 4 * (token * width + token), 1)
        struct.pack_into("<f", output, 4 * (follows.get(token, end) * width + token), 5)
    ones = struct.pack("<f", 1) * width
    tensors: Tensors = {
        "token_embd.weight": ((width, size), embedding),
        "output.weight": ((width, size), output),
        "output_norm.weight": ((width,), ones),
        "blk.0.attn_norm.weight": ((width,), ones),
        "blk.0.ffn_norm.weight": ((width,), ones),
    }
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        tensors[f"blk.0.{name}.weight"] = (width, width), bytes(4 * width * width)
    for name, shape in (
        ("ffn_gate", (width, ALIGNMENT)),
        ("ffn_up", (width, ALIGNMENT)),
        ("ffn_down", (ALIGNMENT, width)),
    ):
        tensors[f"blk.0.{name}.weight"] = shape, bytes(4 * width * ALIGNMENT)
    return tensors


def _gguf(facts: Mapping[str, Any], tensors: Tensors) -> bytes:
    head = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(facts)))
    for name, value in facts.items():
        head += _string(name) + _value(value)
    data = bytearray()
    for name, (shape, numbers) in tensors.items():
        head += _string(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        head += struct.pack("<IQ", 0, len(data))
        data += numbers
        data += bytes(-len(data) % ALIGNMENT)
    return bytes(head + bytes(-len(head) % ALIGNMENT) + data)


def _value(value: Any) -> bytes:
    match value:
        case bool():
            return struct.pack("<I?", BOOL, value)
        case int():
            return struct.pack("<II", UINT32, value)
        case float():
            return struct.pack("<If", FLOAT32, value)
        case str():
            return struct.pack("<I", STRING) + _string(value)
        case [str(), *_]:
            texts = b"".join(map(_string, value))
            return struct.pack("<IIQ", ARRAY, STRING, len(value)) + texts
        case _:
            return struct.pack(f"<IIQ{len(value)}i", ARRAY, INT32, len(value), *value)


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded
