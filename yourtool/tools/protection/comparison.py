"""The differences between two states of protected places."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from yourtool.tools.protection.entries import Entry, Tree, cut, join


class Difference(Struct, frozen=True):
    """The smallest place that has all that differs: a file, a link, or a whole directory."""

    path: str
    before: Tree
    after: Tree
    """With paths relative to the place."""

    @property
    def only_removes(self) -> bool:
        """Whether all that is left was there before."""
        return all(
            (earlier := self.before.get(path)) is not None and entry.is_same(earlier)
            for path, entry in self.after.items()
        )


def find_differences(roots: Iterable[str], before: Tree, after: Tree) -> Iterator[Difference]:
    """Yield the places below `roots` that differ, outermost first."""
    seen, waiting = set[str](), sorted(roots, reverse=True)
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        old, new = before.get(path), after.get(path)
        if (names := _get_inner_names(old, new)) is not None:
            waiting += (join(path, name) for name in sorted(names, reverse=True))
        elif old is None or new is None or not old.is_same(new):
            difference = Difference(path, cut(before, path), cut(after, path))
            if not _is_empty(difference):
                yield difference


def split(difference: Difference) -> Iterator[Difference]:
    """Yield the differences of the single files of a directory that is new or gone."""
    for path in sorted({*difference.before, *difference.after}):
        old, new = difference.before.get(path), difference.after.get(path)
        if (old or new) and not any(each and each.is_directory for each in (old, new)):
            full = join(difference.path, path) if path else difference.path
            yield Difference(full, {"": old} if old else {}, {"": new} if new else {})


def _get_inner_names(old: Entry | None, new: Entry | None) -> set[str] | None:
    """Return the names to compare in a directory that does not itself differ."""
    directories = [each for each in (old, new) if each is not None]
    if not directories or not all(each.is_directory for each in directories):
        return None if directories else set()
    names = {name for each in directories for name in each.names}
    if old is not None and new is not None:
        return names if old.is_same(new) else None
    return names if directories[0].is_filtered else None


def _is_empty(difference: Difference) -> bool:
    """Whether only directories without files appeared or disappeared, which nothing runs."""
    entries = (*difference.before.values(), *difference.after.values())
    return all(entry.is_directory and entry.is_complete for entry in entries)
