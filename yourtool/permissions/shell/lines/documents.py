"""Here-documents with a quoted delimiter.

    cat > notes.txt <<'EOF'                git commit -m "$(cat <<'EOF'
    any text, also $(this)                 any text, also $(this)
    EOF                                    EOF
                                           )"

They are taken out of the line before its syntax is parsed, because they are text of any length.
A mark in their place shows whether the shell reads them where they seem to be.
"""

import re
from collections.abc import Mapping
from typing import TypeAlias

_MAX_LENGTH = 2**16
"""Characters of a line with its documents."""
_MAX_DOCUMENTS = 8
_MARK = "document-of-the-line-"
_DOCUMENT = re.compile(r"(?<=\s)<< ?'(\w+)'(?=[ \n])")
_SUBSTITUTION = re.compile(r"(?<= )\"\$\(cat <<'(\w+)'\n")
_END_OF_SUBSTITUTION = re.compile(r"\s*\)\"(?=[ \n]|\Z)")
Split: TypeAlias = tuple[str, Mapping[str, str], Mapping[str, str]]
"""A line with marks, the documents by mark, and the texts of substitutions by mark."""


def split_documents(line: str) -> Split | None:
    """Return a line without its documents; None if one of them cannot be read.

    A mark of a document is the path of a redirection, that of a substitution is a word.
    """
    if "<<" not in line:
        return line, {}, {}
    if len(line) > _MAX_LENGTH or _MARK in line:
        return None
    texts: dict[str, str] = {}
    while (found := _SUBSTITUTION.search(line)) is not None:
        mark = f"{_MARK}{len(texts)}"
        read = _read_document(line, found.end(), found[1])
        if read is None or len(texts) == _MAX_DOCUMENTS:
            return None
        text, rest = read
        if (end := _END_OF_SUBSTITUTION.match(line, rest)) is None:
            return None
        texts[mark] = text.rstrip("\n")
        line = f"{line[: found.start()]}'{mark}'{line[end.end() :]}"
    documents: dict[str, str] = {}
    if (found := _DOCUMENT.search(line)) is not None:
        mark = f"{_MARK}of-standard-input"
        end = line.find("\n", found.end())
        read = _read_document(line, end + 1, found[1]) if end >= 0 else None
        if read is None or not read[0] or line[end - 1] == "\\":
            return None
        text, rest = read
        documents[mark] = text
        line = f"{line[: found.start()]}< {mark}{line[found.end() : end]}{line[rest:]}"
    return None if "<<" in line else (line, documents, texts)


def _read_document(line: str, start: int, delimiter: str) -> tuple[str, int] | None:
    """Return the lines before the delimiter, and where the rest of the line starts.

    bash can read another line that starts with the delimiter as the end, too, such as `EOF )`.
    """
    at = start
    while at < len(line):
        end = line.find("\n", at)
        end = len(line) if end < 0 else end
        if line[at:end] == delimiter:
            text = line[start:at]
            return (text, end) if text.expandtabs().replace("\n", "").isprintable() else None
        if line.startswith(delimiter, at):
            return None
        at = end + 1
    return None
