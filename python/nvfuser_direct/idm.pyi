# Written by tools/gen_stubs.py from the docstrings of the extension.
"""
Which dimensions of a fusion are the same.
"""
from __future__ import annotations
import nvfuser_direct._C_DIRECT
__all__: list[str] = ['DisjointValSets', 'IdModel', 'ValGraph']
class DisjointValSets:
    """
    Sets of IterDomains that are one dimension.
    """
    def strict_are_mapped(self, entry0: nvfuser_direct._C_DIRECT.IterDomain, entry1: nvfuser_direct._C_DIRECT.IterDomain) -> bool:
        """
        True when both are in one set. RuntimeError when one of them is in no set.
        """
class ValGraph:
    """
    Sets of IterDomains and the transforms between them.
    """
    def __str__(self) -> str:
        ...
    def disjoint_val_sets(self) -> DisjointValSets:
        """
        The sets of IterDomains.
        """
    def map_vals(self, val0: nvfuser_direct._C_DIRECT.IterDomain, val1: nvfuser_direct._C_DIRECT.IterDomain) -> None:
        """
        Takes two IterDomains as one, with everything that follows from it.
        """
class IdModel:
    """
    The graphs of a fusion, one for each IdMappingMode.
    """
    def __init__(self, fusion: nvfuser_direct._C_DIRECT.Fusion, build_graphs: bool = False, allow_self_mapping: bool = True, validate: bool = False) -> None:
        """
        RuntimeError when allow_self_mapping is False and two dims of one tensor are the same dim.
        """
    def maybe_build_graph(self, mode: nvfuser_direct._C_DIRECT.IdMappingMode) -> ValGraph:
        """
        The graph of an IdMappingMode, built when first asked for.
        """
