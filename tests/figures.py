"""The tables of figures that `make security`, `make craft` and `make reliability` print.

A test with the marker of that name measures a row: it asks for the fixture `figures`, calls
`figures("typist", "0 answers, 0 characters")` and asserts afterwards, so that a bad figure is
printed, too. A row that several tests measure has a line for each `part`. For a test with a case
per parameter, the marker `figure("payloads")` counts the cases that pass.
"""

from collections import Counter

from msgspec import Struct


class Row(Struct, frozen=True):
    """What is measured, and what is to be reached."""

    measure: str
    goal: str


SECURITY = {
    "corpus": Row("commands of the corpus: wrong, missed denials, needless", "0, 0, ≤ 1"),
    "larger corpus": Row("commands of a disjoint corpus", "0, 0, ≤ 3 of 118"),
    "former failures": Row("commands that earlier versions judged wrongly", "0 left"),
    "everyday": Row(
        "200 everyday commands: free, quiet after one grant, too broad", "reading ones, others, 0"
    ),
    "paths": Row("path cases in three modes", "all"),
    "races": Row("racing operations on paths", "1,000,000, 0 escapes"),
    "payloads": Row("terminal payloads × surfaces, bytes of a terminal", "0 forbidden"),
    "pairs": Row("confusable pairs in questions", "all distinguishable"),
    "fuzz": Row("differential fuzz of commands", "≥ 200,000, 0 unplanned"),
    "repositories": Row("hostile repositories before trust", "≥ 40, 0 of anything"),
    "sandbox": Row("sandbox probes: successes of what is claimed", "0"),
    "swaps": Row("calls while a command swaps names with links: escapes", "≥ 10,000, 0"),
    "starts": Row("parallel starts while sockets come and go: below `full`", "200 programs, 0"),
    "killed programs": Row("programs killed at random times: left behind", "1,000, 0"),
    "proxy": Row("requests to the proxy: dialled host = checked host", "all"),
    "typist": Row("simulated typist, 10,000 prompts", "0 answers, 0 characters"),
    "undo": Row("undo of 10,000 random sequences of edits", "0 foreign bytes, redo∘undo = id"),
    "sandbox overhead": Row("overhead of a sandboxed command, median", "≤ 30 ms, bridge ≤ 100 ms"),
    "replay": Row("replay of 100,000 stored decisions, same rules", "< 10 s, 0 differences"),
    "coverage": Row("branch coverage of gate, paths, sanitiser, journal", "100 %"),
    "mutants": Row("mutation score of gate, paths, sanitiser, journal", "≥ 90 %"),
}
CRAFT = {
    "near misses": Row(
        "near misses of edits: applied, at a wrong place or changed outside", "≥ 98 %, 0"
    ),
    "changed word": Row("a changed word in `old`: applied, region in the answer", "0, ≥ 95 %"),
    "patches": Row("near misses in patches: applied, at a wrong place", "≥ 98 %, 0"),
    "clumsy models": Row("40 tasks with scripted clumsy models", "all finished"),
    "prompt": Row("prompt and tools: tokens, share read from the cache", "≤ 3,000, ≥ 95 %"),
    "waiting": Row("programs that wait for input: return or ask", "≤ 5 s"),
    "workers": Row("20 workers: parent finishes, costs add up, processes left", "yes, yes, 0"),
}
RELIABILITY = {
    "kills": Row("`kill -9` at random times of turns", "≥ 2,000, 0 acknowledged facts lost"),
    "system calls": Row("`kill -9` at each system call that writes", "≥ 500, 0 lost, all valid"),
    "power losses": Row("disks after a loss of power", "≥ 5,000, 0 lost, 0 damaged"),
    "awaits": Row("a turn stopped or killed at every await", "≥ 1,000, all valid, 0 processes"),
    "damaged databases": Row(
        "damaged databases: internal errors, writes", "≥ 200, 0, 0, every readable row saved"
    ),
    "histories": Row("histories of 1 to 3 windows", "fits or names what is too large"),
    "processes": Row("8 processes × 400 turns on one store", "integrity ok, 0 lost"),
    "full disk": Row("a disk that is full at each write of a turn", "completes, 0 lost"),
    "long sessions": Row(
        "100,000 messages: end shown and key echoed; memory; search; 5,000 messages read",
        "≤ 3 s; ≤ 150 MiB; < 50 ms; < 300 ms",
    ),
    "replay": Row("replay of a session of 50 turns", "same bytes, 0 connections, 0 canary bytes"),
    "imports": Row("damaged files of other programs", "0 crashes, sound or refused"),
    "doors": Row(
        "messages of broken editors and servers: crashes, calls without result, allowed by nobody",
        "≥ 100,000: 0, 0, 0",
    ),
}
ECOSYSTEM = {
    "acpx": Row("acpx 0.19: allow, deny, a second turn in a named session", "all pass"),
    "typescript": Row("TypeScript SDK 2.4 of ACP as a client", "all pass"),
    "agents": Row("agents of others as models: text, a change, denied, undone, swaps", "all pass"),
    "everything": Row("server-everything: tools offered and called", "all"),
    "everything http": Row("server-everything over HTTP", "all"),
    "filesystem": Row("server-filesystem: tools offered and called", "all"),
    "git": Row("mcp-server-git: tools offered and called", "all"),
    "fetch": Row("mcp-server-fetch: tools offered and called", "all"),
    "time": Row("mcp-server-time: tools offered and called", "all"),
    "conformance": Row("conformance 0.1.16: client scenarios", "all pass"),
}
TABLES = {
    "security": SECURITY,
    "craft": CRAFT,
    "reliability": RELIABILITY,
    "ecosystem": ECOSYSTEM,
}
"""Rows in the order in which they are printed, by the marker of the tests that measure them."""

_measured: dict[str, dict[str, str]] = {name: {} for table in TABLES.values() for name in table}
_cases: Counter[tuple[str, str, bool]] = Counter()


def record_figure(name: str, value: str, *, part: str = "") -> None:
    """Set the measured value of a row; `part`: what of the row this is."""
    _measured[name][part] = value


def count_case(name: str, passed: bool, *, part: str = "") -> None:
    """Count a case of a row."""
    _cases[name, part, passed] += 1
    passes = _cases[name, part, True]
    record_figure(name, f"{passes:,} of {passes + _cases[name, part, False]:,} pass", part=part)


def format_figures(table: str) -> list[str]:
    """Return the lines of a table."""
    lines = [("measure", "goal", "measured")]
    for name, row in TABLES[table].items():
        for part, value in (_measured[name] or {"": "not measured in this run"}).items():
            lines.append((f"{row.measure}; {part}" if part else row.measure, row.goal, value))
    widths = [max(len(line[at]) for line in lines) for at in range(3)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
