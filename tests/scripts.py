"""Lines of a script that only tests play."""

from yourtool.providers.scripted import Pause, ScriptedCall, ScriptLine


def calls_badly(tool, raw):
    """Call a tool with arguments that may not be JSON."""
    return ScriptLine((ScriptedCall(tool, {}, raw),))


def pauses(seconds):
    """Send nothing for a while."""
    return ScriptLine((Pause(seconds),))
