"""Version of the package, and the one comparison of version texts."""

from __future__ import annotations

import re
from typing import Any


def release(version: Any) -> tuple[int, ...]:
    """The numbers at the front: "2.7.0a0+git1" and "2.7.0+cu126" both give (2, 7, 0). Trailing zeros are dropped.

    Pre-releases count as their release. ValueError when the text does not start with a number.
    """
    match = re.match(r"\s*v?(\d+(?:\.\d+)*)", str(version))
    if match is None:
        raise ValueError(f"not a version: {version!r}")
    numbers = [int(part) for part in match.group(1).split(".")]
    while len(numbers) < 3:
        numbers.append(0)
    while len(numbers) > 3 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def at_least(version: Any, minimum: str) -> bool:
    """True when `version` is the release `minimum`, a pre-release of it, or newer."""
    return release(version) >= release(minimum)


class NvfuserVersion(str):
    """A version text that compares by its numbers with a str or a Version object; a local part is ignored."""

    def _compared(self, other: Any):
        if not isinstance(other, str) and not hasattr(other, "release"):
            return None
        return release(self), release(other)

    def __eq__(self, other: Any) -> bool:
        pair = self._compared(other)
        return NotImplemented if pair is None else pair[0] == pair[1]

    def __ne__(self, other: Any) -> bool:
        pair = self._compared(other)
        return NotImplemented if pair is None else pair[0] != pair[1]

    def __lt__(self, other: Any) -> bool:
        pair = self._compared(other)
        return NotImplemented if pair is None else pair[0] < pair[1]

    def __le__(self, other: Any) -> bool:
        pair = self._compared(other)
        return NotImplemented if pair is None else pair[0] <= pair[1]

    def __gt__(self, other: Any) -> bool:
        pair = self._compared(other)
        return NotImplemented if pair is None else pair[0] > pair[1]

    def __ge__(self, other: Any) -> bool:
        pair = self._compared(other)
        return NotImplemented if pair is None else pair[0] >= pair[1]

    __hash__ = str.__hash__


# The compare methods are written out because str has its own, which functools.total_ordering would keep.
Version = NvfuserVersion
