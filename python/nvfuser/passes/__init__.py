"""Graph passes over exported programs. Pure Python: they need torch, not the compiled part of nvfuser.

`replace_fused_sdpa` turns the fused attention variants that decomposing leaves in a program (flash, efficient, cuDNN,
CPU flash, the overrideable one) back into ``scaled_dot_product_attention``; `ReplaceFusedSdpaWithSdpaPass` is the same
as a pass for torch.fx pass managers.

``sdpa_pass.py`` holds both, ``variants.py`` the ops and how their arguments are read, ``rules.py`` when a call may be
rewritten, ``rewrite.py`` does it; ``bias.py`` finds the bias before padding, ``layout.py`` what depends on the memory
layout of the output, ``control_flow.py`` which graph calls which; ``report.py`` is what is reported.
"""

from .report import Candidate, FusedSdpaKeptError, ReplaceResult, Report, ReportedPassResult
from .sdpa_pass import ReplaceFusedSdpaWithSdpaPass, replace_fused_sdpa
from .variants import VARIANTS

__all__ = [
    "VARIANTS",
    "Candidate",
    "FusedSdpaKeptError",
    "ReplaceFusedSdpaWithSdpaPass",
    "ReplaceResult",
    "Report",
    "ReportedPassResult",
    "replace_fused_sdpa",
]
