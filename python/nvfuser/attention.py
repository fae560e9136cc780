"""Which attention backends take a problem, and which one ran: the same objects as ``nvfuser_direct.attention``."""

from nvfuser_direct.attention import *  # noqa: F403
