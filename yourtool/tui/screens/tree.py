"""Screen of `/tree`.

It lists the entries of a session; the user can fold branches.
"""

from msgspec.structs import replace

from yourtool.agent.commands.base import Choice, ShowTree
from yourtool.tui.screens.picker import Picker
from yourtool.tui.textual_internals.app import bind_key

_FOLD_KEY = "ctrl+f"
_FOLD_HINT = "Ctrl+F fold"


class TreeScreen(Picker):
    """Returns the id of the chosen entry, or None."""

    def __init__(self, tree: ShowTree) -> None:
        super().__init__(
            tree.title,
            tree.choices,
            _FOLD_HINT,
            current=tree.current,
            columns=tree.columns,
            actions=tree.actions,
        )
        self._tree = tree
        self._folded = set[str]()
        """The first entries of folded branches."""
        bind_key(self, _FOLD_KEY, "toggle_fold")

    def action_toggle_fold(self) -> None:
        """Fold the branch of the highlighted entry to its first one, or unfold it."""
        if self.highlighted is None:
            return
        head = self._tree.branches.get(self.highlighted.value, "")
        if not head:
            self.app.bell()  # the trunk has no first entry that could be left alone
            return
        self._folded ^= {head}
        self.set_choices(self._list_unfolded())
        self.highlight_value(head)

    def _list_unfolded(self) -> list[Choice]:
        """Return the choices without those in folded branches, which their first ones count."""
        shown, hidden = list[Choice](), dict[str, bool]()
        counts = dict[str, int]()
        for choice in self._tree.choices:
            head = self._tree.branches.get(choice.value, "")
            if choice.value == head:
                outer = self._tree.outer.get(head, "")
                hidden[head] = hidden.get(outer, False) or outer in self._folded
            is_inside = choice.value != head and head in self._folded
            if hidden.get(head, False) or is_inside:
                counts[shown[-1].value] = counts.get(shown[-1].value, 0) + 1
            else:
                shown.append(choice)
        return [
            replace(each, title=f"{each.title} … {counts[each.value]:,} more")
            if each.value in counts
            else each
            for each in shown
        ]
