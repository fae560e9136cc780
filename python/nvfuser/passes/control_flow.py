"""Which graph calls which: branches and bodies of control flow are GraphModules of their own."""

from __future__ import annotations

from typing import Any

from torch.fx import Graph, GraphModule, Node


class CallGraph:
    """The graphs that a program consists of, each once, and the nodes that call them."""

    def __init__(self, root: GraphModule):
        #: name of a module within the program ("" for the program itself) -> its graph
        self.graphs: dict[str, Graph] = {}
        self._holders: dict[Graph, list[GraphModule]] = {}
        self._callers: dict[Graph, list[Node]] = {}
        self._called: dict[Node, list[Graph]] = {}
        for name, module in root.named_modules():
            if not isinstance(module, GraphModule):
                continue
            if module.graph not in self._holders:
                self.graphs[name] = module.graph
            self._holders.setdefault(module.graph, []).append(module)
        for graph, holders in self._holders.items():
            for node in graph.nodes:
                if node.op not in ("get_attr", "call_module"):
                    continue
                target = _attribute(holders[0], node.target)
                if isinstance(target, GraphModule):
                    for caller in node.users if node.op == "get_attr" else [node]:
                        self._callers.setdefault(target.graph, []).append(caller)
                        self._called.setdefault(caller, []).append(target.graph)

    def callers(self, graph: Graph) -> list[Node]:
        """The nodes that run `graph`: a cond, a while_loop, a call."""
        return self._callers.get(graph, [])

    def called(self, node: Node) -> list[Graph]:
        """The graphs that `node` runs."""
        return self._called.get(node, [])

    def runs_under_autocast(self, graph: Graph) -> bool:
        """True when a region with autocast leads to `graph`."""
        seen, waiting = {graph}, [graph]
        while waiting:
            for caller in self.callers(waiting.pop()):
                if operator_name(caller) == "wrap_with_autocast":
                    return True
                if caller.graph not in seen:
                    seen.add(caller.graph)
                    waiting.append(caller.graph)
        return False

    def recompile(self, graph: Graph) -> None:
        """Checks `graph` after a change, and writes the code of the modules that hold it anew."""
        graph.lint()
        for module in self._holders[graph]:
            module.recompile()


def operator_name(node: Node) -> str:
    """The name of the operator that a node calls, without its overload: "aten::clone", "cond"."""
    if hasattr(node.target, "_schema"):
        return node.target._schema.name
    name = getattr(node.target, "name", None)
    return name() if callable(name) else str(getattr(node.target, "__name__", node.target))


def _attribute(module: Any, target: str) -> Any:
    for part in target.split("."):
        module = getattr(module, part, None)
    return module
