"""Side questions, reviews and goals.

Where a change goes:

- what a side question sends, and where its answer is stored: `extensions/asides/side_question.py`
"""

from yourtool.foundation.late_modules import late_modules

__getattr__ = late_modules(  # until a command runs
    __name__,
    "side_question",
)
