"""Rows as a table of plain text."""

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]]) -> str:
    """Aligns the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(align(row, widths)).rstrip() for row in rows)


def align(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    first, *others = zip(row, widths)
    return [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
