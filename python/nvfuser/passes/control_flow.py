"""Which graph calls which: branches and bodies of control flow are GraphModules of their own."""

from __future__ import annotations

from typing import Any

from torch.fx import GraphModule, Node


class CallGraph:
    """The GraphModules that a program consists of, each once, and the nodes that call them."""

    def __init__(self, root: GraphModule):
        #: name within the program ("" for the program itself) -> graph
        self.modules: dict[str, GraphModule] = {
            name: module for name, module in root.named_modules() if isinstance(module, GraphModule)
        }
        self._callers: dict[GraphModule, list[Node]] = {module: [] for module in self.modules.values()}
        self._called: dict[Node, list[GraphModule]] = {}
        for module in self.modules.values():
            for node in module.graph.nodes:
                if node.op not in ("get_attr", "call_module"):
                    continue
                target = _attribute(module, node.target)
                if isinstance(target, GraphModule):
                    for caller in node.users if node.op == "get_attr" else [node]:
                        self._callers.setdefault(target, []).append(caller)
                        self._called.setdefault(caller, []).append(target)

    def callers(self, module: GraphModule) -> list[Node]:
        """The nodes that run `module`: a cond, a while_loop, a call."""
        return self._callers.get(module, [])

    def called(self, node: Node) -> list[GraphModule]:
        """The graphs that `node` runs."""
        return self._called.get(node, [])

    def runs_under_autocast(self, module: GraphModule) -> bool:
        """True when a region with autocast leads to `module`."""
        seen, waiting = {module}, [module]
        while waiting:
            for caller in self.callers(waiting.pop()):
                if _name(caller.target) == "wrap_with_autocast":
                    return True
                owner = caller.graph.owning_module
                if owner not in seen:
                    seen.add(owner)
                    waiting.append(owner)
        return False


def _attribute(module: Any, target: str) -> Any:
    for part in target.split("."):
        module = getattr(module, part, None)
    return module


def _name(target: Any) -> str:
    name = getattr(target, "name", None)
    return name() if callable(name) else str(getattr(target, "__name__", target))
