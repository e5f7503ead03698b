"""HTML tables by which notebooks show data sets, runs and models."""

from __future__ import annotations

from html import escape
from typing import Any, Iterable, Sequence


def _cell(value: Any, tag: str) -> str:
    if isinstance(value, (int, float)):
        text = f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
        return f'<{tag} style="text-align:right">{text}</{tag}>'
    return f'<{tag} style="text-align:left">{escape(str(value))}</{tag}>'


def table(title: str, rows: Iterable[Sequence[Any]], header: Sequence[str] = ()) -> str:
    """A titled table. Everything in it is escaped: names of classes and data sets come from files."""
    lines = [f'<table><caption style="caption-side:top;text-align:left"><b>{escape(title)}</b></caption>']
    if header:
        lines.append("<thead><tr>" + "".join(_cell(one, "th") for one in header) + "</tr></thead>")
    lines.append("<tbody>")
    lines += ["<tr>" + "".join(_cell(one, "td") for one in row) + "</tr>" for row in rows]
    return "\n".join(lines) + "\n</tbody></table>"


def counted(count: int, names: Sequence[str], most: int = 10) -> Any:
    """A number of classes, with the names of the first few where they have some."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{count}: {', '.join(names[:most])}{more}" if names else count
