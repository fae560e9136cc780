"""Caches of compiled fusions: equal definitions share one FusionExecutorCache."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from nvfuser_direct import _C_DIRECT as _C


class _Entry:
    __slots__ = ("executor", "hits")

    def __init__(self, executor: Any):
        self.executor = executor
        self.hits = 0


class LRUCache:
    """Executors of up to `max_fusions` different fusions; the one that was not used for the longest time goes first.

    RuntimeError unless max_fusions is positive.
    """

    def __init__(self, max_fusions: int):
        if not isinstance(max_fusions, int) or isinstance(max_fusions, bool):
            raise TypeError(f"max_fusions must be an int, not {type(max_fusions).__name__}")
        if max_fusions <= 0:
            raise RuntimeError(f"max_fusions must be positive, not {max_fusions}")
        self._max_fusions = max_fusions
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._compiled = 0
        self._lookups = 0
        self._hits = 0

    def cache_compile(self, fusion: Any) -> Any:
        """The FusionExecutorCache of an equal fusion, or a new one that takes `fusion` over."""
        key = fusion._canonical_text()
        self._lookups += 1
        entry = self._entries.get(key)
        if entry is not None:
            self._hits += 1
            entry.hits += 1
            self._entries.move_to_end(key, last=False)
            return entry.executor
        if len(self._entries) >= self._max_fusions:
            self._entries.popitem(last=True)
        entry = _Entry(_C.FusionExecutorCache(fusion, self._compiled))
        self._compiled += 1
        self._entries[key] = entry
        self._entries.move_to_end(key, last=False)
        return entry.executor

    def num_fusions(self) -> int:
        """How many fusions are in the cache."""
        return len(self._entries)

    def stats(self) -> str:
        """Size, hits per entry (most recently used first) and hit rate, as text."""
        lines = [f"Max Fusions Allowed: {self._max_fusions}"]
        if not self._entries:
            return "\n".join([*lines, "The fusion cache is empty.", ""])
        lines += [
            f"Total Fusions in Cache: {len(self._entries)}",
            f"Total Unique Fusions Compiled: {self._compiled}",
            "Cache Hits by LRU ordering:",
            *(f"\t{rank} -> {entry.hits} hits" for rank, entry in enumerate(self._entries.values())),
            f"Cache Lookups: {self._lookups}",
            f"Cache Hits: {self._hits}",
            f"Hit Rate: {100 * self._hits / self._lookups:g}%",
        ]
        return "\n".join([*lines, ""])


class LruFusionCache:
    """Decorator of a function that returns a FusionDefinition: equal definitions run through one executor.

    The decorated function has `stats()` and `num_fusions()`.
    """

    def __init__(self, max_fusions: int = 16384):
        self._cache = LRUCache(max_fusions)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        cache = self._cache

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            definition = function(*args, **kwargs)
            if getattr(definition, "fec", None) is None:
                definition.fec = cache.cache_compile(definition.fusion)
                del definition._fusion
            return definition

        wrapper.stats = cache.stats
        wrapper.num_fusions = cache.num_fusions
        return wrapper
