"""A compositor that asks widgets only for the rows that it paints.

Textual asks each widget next to a change for all its rows, so that a key in the prompt also
renders the screen, its containers and the transcript.
"""

from collections.abc import Iterable

from textual._compositor import Compositor
from textual.geometry import Region
from textual.strip import Strip


class PartialCompositor(Compositor):
    """Renders the rows of an update."""

    def _get_renders(
        self, crop: Region | None = None
    ) -> Iterable[tuple[Region, Region, list[Strip]]]:
        if crop is None:
            yield from super()._get_renders(crop)
            return
        for widget, (region, clip) in self.visible_widgets.items():
            rows = Region(region.x, crop.y, region.width, crop.height).intersection(region)
            if shown := rows.intersection(clip):
                yield rows, clip, widget.render_lines(shown.translate(-region.offset))
