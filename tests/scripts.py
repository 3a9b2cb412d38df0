"""Lines of a script that only tests play."""

from yourtool.providers.scripted import Call, Line, Pause


def calls_badly(tool, raw):
    """Call a tool with arguments that may not be JSON."""
    return Line((Call(tool, {}, raw),))


def pauses(seconds):
    """Say nothing for a while."""
    return Line((Pause(seconds),))
