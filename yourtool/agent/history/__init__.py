"""History of a session: facts and folded state.

Where a change goes:

- what a turn does during a write: `Recorder.begin` in `agent/history/recorder.py`
- how events reach a front end: order, waiting, closing: `agent/history/channel.py`
- what a branch of a session has: `agent/history/conversation.py` (the fold), `events/tree.py` (its
  facts); verbs: `agent/session/tree.py`
- what a summary replaces: `agent/history/compaction.py`; when and by whom it is written:
  `agent/turn/compaction.py`
- what requests omit or shorten: `agent/history/elision.py`, a fact in `events/context.py`,
  `State.conversation_for`
- what is left of rate limits: `agent/history/headroom.py`; the headers:
  `providers/replies/response_headers.py`
"""
