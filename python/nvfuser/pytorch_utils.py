"""Conversions between torch's and our types: the same objects as ``nvfuser_direct.pytorch_utils``."""

from nvfuser_direct.pytorch_utils import *  # noqa: F403
