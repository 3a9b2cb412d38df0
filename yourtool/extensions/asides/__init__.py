"""Side questions, reviews and goals.

Where a change goes:

- what a side question sends, and where its answer is stored: `extensions/asides/side_question.py`
- what a review gets: `extensions/asides/diff.py` (changes, limits), `review.py` (prompt, tools);
  which findings are shown: `findings.py`
- when a goal is met: `extensions/asides/goal_verdicts.py`; its limits and turns: `goal.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # until a command runs
    __name__,
    "goal",
    "goal_options",
    "review",
    "side_question",
)
