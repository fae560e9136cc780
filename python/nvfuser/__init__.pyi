from nvfuser_direct import *  # noqa: F403
from nvfuser_direct import _C_DIRECT as _C_DIRECT
from nvfuser_direct import __version__ as __version__

from nvfuser import dynamo as dynamo
from nvfuser import export as export
from nvfuser import passes as passes
from nvfuser import pytorch_utils as pytorch_utils
from nvfuser.attention import sdpa_backends as sdpa_backends
from nvfuser.dynamo import compile_report as compile_report
