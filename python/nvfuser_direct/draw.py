"""Drawings of segmented fusions: a graph of inputs, segments and outputs as Graphviz text or SVG."""

from __future__ import annotations

import os
import shutil
import subprocess
import textwrap
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from nvfuser_direct.explain import Segment, Tensor, counted, first_line, size_text, time_text

TEXT_ENDINGS = (".dot", ".gv")
DOT_ENDINGS = (".png", ".pdf")  # these need Graphviz
ENDINGS = (*TEXT_ENDINGS, ".svg", *DOT_ENDINGS)

FILL = {"kernel": "#d9ead3", "library call": "#fce5cd", "view": "#eeeeee", "tensor": "#ffffff"}
MAX_OP_LINES = 6

# Of the own layout, in pixels; the widths are those of a 12 pixel monospaced font.
CHARACTER, LINE, PADDING, GAP, LAYER_GAP = 7.25, 16, 9, 26, 46


@dataclass
class Node:
    """A box: a segment, or a tensor that the fusion is given or returns."""

    key: str
    kind: str
    lines: list[str]
    tooltip: str = ""
    layer: int = 0
    x: float = 0.0
    """Of its centre; `y` of its upper edge."""
    y: float = 0.0

    @property
    def width(self) -> float:
        return max(map(len, self.lines), default=0) * CHARACTER + 2 * PADDING if self.lines else 2.0

    @property
    def height(self) -> float:
        return len(self.lines) * LINE + 2 * PADDING if self.lines else 0.0


@dataclass
class Graph:
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[tuple[str, str, str]] = field(default_factory=list)
    """From, to, name of the tensor."""


def graph_of(segments: list[Segment]) -> Graph:
    """Boxes for the inputs, the segments and the outputs, joined by the tensors between them."""
    graph = Graph()
    makers: dict[str, str] = {}

    def source(tensor: Tensor) -> str:
        if tensor.name not in makers:
            key = makers[tensor.name] = f"input_{tensor.name}"
            graph.nodes[key] = Node(key, "tensor", [str(tensor)])
        return makers[tensor.name]

    for segment in segments:
        for tensor in segment.inputs:
            source(tensor)
        key = f"segment_{segment.number}"
        graph.nodes[key] = Node(key, segment.kind, segment_lines(segment), "\n".join(segment.nodes))
        for tensor in segment.inputs:
            graph.edges.append((makers[tensor.name], key, tensor.name))
        for tensor in segment.outputs:
            makers[tensor.name] = key
    for segment in segments:
        for tensor in segment.outputs:
            if tensor.role.startswith("output"):
                key = f"output_{tensor.name}"
                graph.nodes[key] = Node(key, "tensor", [str(tensor)])
                graph.edges.append((f"segment_{segment.number}", key, tensor.name))
    return graph


def segment_lines(segment: Segment) -> list[str]:
    """The text of a segment's box."""
    title = f"{segment.number} {segment.kind}"
    if segment.kind == "kernel" and segment.scheduler:
        title += f": {segment.scheduler}"
    ops = textwrap.wrap(counted(segment.ops), 44)
    if len(ops) > MAX_OP_LINES:
        ops = [*ops[: MAX_OP_LINES - 1], f"... {len(segment.ops)} ops in all"]
    lines = [title, *ops]
    lines += [f"-> {tensor}" for tensor in segment.outputs if not tensor.role]
    if segment.bytes_read or segment.bytes_written:
        lines.append(f"{size_text(segment.bytes_read)} in, {size_text(segment.bytes_written)} out")
    if segment.seconds is not None:
        lines.append(time_text(segment.seconds))
    return [first_line(line) for line in lines]


def dot_text(graph: Graph) -> str:
    """The graph in Graphviz's language."""

    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

    lines = [
        "digraph fusion {",
        '  node [shape=box, style="rounded,filled", fontname="monospace", fontsize=10];',
        '  edge [fontname="monospace", fontsize=9];',
    ]
    for node in graph.nodes.values():
        # \l ends a line that is set flush left.
        label = '"' + "".join(quoted(line)[1:-1] + "\\l" for line in node.lines) + '"'
        lines.append(
            f'  {node.key} [label={label}, fillcolor="{FILL[node.kind]}", tooltip={quoted(node.tooltip or node.key)}];'
        )
    lines += [f"  {start} -> {end} [label={quoted(name)}];" for start, end, name in graph.edges]
    return "\n".join([*lines, "}"]) + "\n"


# --- our own layout, for machines without Graphviz ---


def layered(graph: Graph) -> tuple[list[list[Node]], list[tuple[list[Node], str]]]:
    """Every node in a layer below those that it depends on; edges as chains with one node in each layer."""
    users: dict[str, list[str]] = {key: [] for key in graph.nodes}
    waiting = dict.fromkeys(graph.nodes, 0)
    for start, end, _ in graph.edges:
        users[start].append(end)
        waiting[end] += 1
    ready = [key for key, count in waiting.items() if count == 0]
    for key in ready:
        for user in users[key]:
            graph.nodes[user].layer = max(graph.nodes[user].layer, graph.nodes[key].layer + 1)
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
    for key, node in graph.nodes.items():
        if key.startswith("input_"):  # close to the first who reads it
            node.layer = min((graph.nodes[user].layer for user in users[key]), default=1) - 1
    layers: list[list[Node]] = [[] for _ in range(1 + max((n.layer for n in graph.nodes.values()), default=0))]
    for node in graph.nodes.values():
        layers[node.layer].append(node)
    chains = []
    for start, end, name in graph.edges:
        first, last = graph.nodes[start], graph.nodes[end]
        chain = [first]
        for layer in range(first.layer + 1, last.layer):
            bend = Node("", "bend", [], layer=layer)
            layers[layer].append(bend)
            chain.append(bend)
        chains.append(([*chain, last], name))
    return layers, chains


def place(layers: list[list[Node]], chains: list[tuple[list[Node], str]]) -> tuple[float, float]:
    """Orders each layer so that edges cross little, then sets all positions. Returns width and height of the whole."""
    above: dict[int, list[Node]] = {}
    below: dict[int, list[Node]] = {}
    for chain, _ in chains:
        for upper, lower in zip(chain, chain[1:], strict=False):
            above.setdefault(id(lower), []).append(upper)
            below.setdefault(id(upper), []).append(lower)

    def wanted(node: Node, neighbours: dict[int, list[Node]]) -> float:
        others = neighbours.get(id(node))
        return sum(other.x for other in others) / len(others) if others else node.x

    def spread(layer: list[Node]) -> None:
        """Keeps the order and the wish of each node as far as no two touch."""
        edge = None
        for node in layer:
            left = node.x - node.width / 2
            if edge is not None and left < edge + GAP:
                node.x += edge + GAP - left
            edge = node.x + node.width / 2
        edge = None
        for node in reversed(layer):
            right = node.x + node.width / 2
            if edge is not None and right > edge - GAP:
                node.x -= right - edge + GAP
            edge = node.x - node.width / 2

    for layer in layers:
        for position, node in enumerate(layer):
            node.x = 100.0 * position
    for sweep in range(8):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            wishes = {id(node): wanted(node, above if down else below) for node in layer}
            layer.sort(key=lambda node: wishes[id(node)])
            for node in layer:
                node.x = wishes[id(node)]
            middle = sum(node.x for node in layer) / max(len(layer), 1)
            spread(layer)
            shift = middle - sum(node.x for node in layer) / max(len(layer), 1)
            for node in layer:
                node.x += shift
    y = GAP
    for layer in layers:
        for node in layer:
            node.y = y
        y += max((node.height for node in layer), default=0) + LAYER_GAP
    everyone = [node for layer in layers for node in layer]
    left = min((node.x - node.width / 2 for node in everyone), default=0) - GAP
    for node in everyone:
        node.x -= left
    return max((node.x + node.width / 2 for node in everyone), default=0) + GAP, y - LAYER_GAP + GAP


def ports(chains: list[tuple[list[Node], str]], end: bool) -> list[float]:
    """Where each edge leaves its first node, or with `end` reaches its last one: side by side, in the order in which
    they come."""
    at: dict[int, list[int]] = {}
    for number, (chain, _) in enumerate(chains):
        at.setdefault(id(chain[-1 if end else 0]), []).append(number)
    result = [0.0] * len(chains)
    for numbers in at.values():
        numbers.sort(key=lambda number: chains[number][0][-2 if end else 1].x)
        node = chains[numbers[0]][0][-1 if end else 0]
        step = min(34.0, node.width / (len(numbers) + 1))
        for place, number in enumerate(numbers):
            result[number] = node.x + (place - (len(numbers) - 1) / 2) * step
    return result


def svg_text(graph: Graph) -> str:
    """The graph as SVG, laid out here."""
    layers, chains = layered(graph)
    width, height = place(layers, chains)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="12">',
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
    ]
    floors = [max((node.height for node in layer), default=0) for layer in layers]
    starts, ends = ports(chains, False), ports(chains, True)
    for (chain, name), start, end in zip(chains, starts, ends, strict=True):
        points = [(start, chain[0].y + chain[0].height)]
        for bend in chain[1:-1]:
            points += [(bend.x, bend.y), (bend.x, bend.y + floors[bend.layer])]
        points.append((end, chain[-1].y))
        path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
        for (x0, y0), (x1, y1) in zip(points, points[1:], strict=False):
            half = (y1 - y0) / 2
            path += f" C{x0:.1f},{y0 + half:.1f} {x1:.1f},{y1 - half:.1f} {x1:.1f},{y1:.1f}"
        parts.append(f'<path d="{path}" fill="none" stroke="#555" marker-end="url(#tip)"/>')
        x1, y1 = points[-1]
        parts.append(
            f'<text x="{x1 + 4:.1f}" y="{y1 - 8:.1f}" font-size="10" fill="#555" stroke="white" stroke-width="3" '
            f'paint-order="stroke">'
            f"{escape(name)}</text>"
        )
    for node in graph.nodes.values():
        x = node.x - node.width / 2
        radius = 3 if node.kind == "tensor" else 8
        parts.append(
            f'<g><rect x="{x:.1f}" y="{node.y:.1f}" width="{node.width:.1f}" height="{node.height:.1f}" rx="{radius}" '
            f'fill="{FILL[node.kind]}" stroke="#333"/>'
        )
        if node.tooltip:
            parts.append(f"<title>{escape(node.tooltip)}</title>")
        for number, line in enumerate(node.lines):
            weight = ' font-weight="bold"' if number == 0 and node.kind != "tensor" else ""
            parts.append(
                f'<text x="{x + PADDING:.1f}" y="{node.y + PADDING + LINE * (number + 0.75):.1f}"{weight} '
                f'xml:space="preserve">{escape(line)}</text>'
            )
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"]) + "\n"


# --- files ---


def run_dot(text: str, ending: str) -> bytes:
    """What Graphviz makes of the text. RuntimeError when it is not installed or fails."""
    program = shutil.which("dot")
    if program is None:
        raise RuntimeError(
            f"draw: {ending} files need Graphviz, whose program dot is not installed "
            "(Debian: apt-get install graphviz); .svg and .dot work without it"
        )
    try:
        done = subprocess.run([program, f"-T{ending[1:]}"], input=text.encode(), capture_output=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(f"draw: {program} does not run: {error}") from error
    if done.returncode != 0 or not done.stdout:
        said = first_line(done.stderr.decode(errors="replace")) or f"exit status {done.returncode}"
        raise RuntimeError(f"draw: {program} failed: {said}")
    return done.stdout


def ending_of(path: str | os.PathLike) -> str:
    """The ending of a file that can be drawn into. ValueError for another one."""
    ending = Path(os.fspath(path)).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"draw: the name must end with one of {', '.join(ENDINGS)}, unlike {os.fspath(path)!r}")
    return ending


def draw(segments: list[Segment], path: str | os.PathLike) -> None:
    """Writes the drawing in the format that the ending of `path` says. See FusionDefinition.draw."""
    ending = ending_of(path)
    graph = graph_of(segments)
    text = dot_text(graph)
    if ending in TEXT_ENDINGS:
        content = text.encode()
    elif ending == ".svg":
        try:
            content = run_dot(text, ending)
        except RuntimeError:
            content = svg_text(graph).encode()
    else:
        content = run_dot(text, ending)
    Path(os.fspath(path)).write_bytes(content)
