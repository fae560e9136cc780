"""fd.draw: the drawing shows every segment, input and output, in each format and without Graphviz."""

import re
import stat
import xml.etree.ElementTree as ElementTree

import pytest
import torch
from explain_helpers import KERNELS, defined, plain_block, plain_inputs, projected_block, projected_inputs
from nvfuser_direct import FusionDefinition
from nvfuser_direct.draw import dot_text, graph_of, layered, place

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def no_graphviz(monkeypatch, tmp_path):
    """Our own layout, whatever is installed; fake_dot() installs a program."""
    program = tmp_path / "bin" / "dot"
    monkeypatch.setattr("nvfuser_direct.draw.shutil.which", lambda name: str(program) if program.exists() else None)


@pytest.fixture
def block():
    inputs = projected_inputs()
    fd = defined(projected_block, inputs)
    return fd, inputs, fd.explain(inputs, _enable_options=KERNELS)


def fake_dot(tmp_path, script):
    """A program `dot` that can be found."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "dot"
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


# --- the graph ---


def test_nodes_and_edges_are_those_of_the_segments(block):
    _, _, explanation = block
    graph = graph_of(explanation.segments)
    assert sum(key.startswith("segment_") for key in graph.nodes) == len(explanation.segments)
    assert sum(key.startswith("input_") for key in graph.nodes) == 7
    assert sum(key.startswith("output_") for key in graph.nodes) == 1
    assert len(graph.edges) == sum(len(segment.inputs) for segment in explanation.segments) + 1
    assert {name for edge in graph.edges for name in edge[:2]} == set(graph.nodes)


def test_layers_point_down_and_boxes_do_not_touch(block):
    _, _, explanation = block
    graph = graph_of(explanation.segments)
    layers, chains = layered(graph)
    assert all(graph.nodes[start].layer < graph.nodes[end].layer for start, end, _ in graph.edges)
    for chain, _ in chains:
        assert [node.layer for node in chain] == list(range(chain[0].layer, chain[-1].layer + 1))
    width, height = place(layers, chains)
    floor = 0.0
    for layer in layers:
        assert all(node.y >= floor for node in layer)
        floor = max(node.y + node.height for node in layer)
        for left, right in zip(layer, layer[1:], strict=False):
            assert left.x + left.width / 2 < right.x - right.width / 2
        assert all(0 < node.x - node.width / 2 and node.x + node.width / 2 < width for node in layer)
    assert floor < height


# --- files ---


def test_svg(block, tmp_path):
    fd, inputs, explanation = block
    path = tmp_path / "graph.svg"
    fd.draw(path, inputs, _enable_options=KERNELS)
    root = ElementTree.parse(path).getroot()
    assert root.tag == f"{SVG}svg" and float(root.get("width")) > 100
    texts = [element.text for element in root.iter(f"{SVG}text")]
    for segment in explanation.segments:
        assert any(text.startswith(f"{segment.number} {segment.kind}") for text in texts)
    assert "sdpa_fwd" in texts and any("(output 0)" in text for text in texts)
    titles = [element.text for element in root.iter(f"{SVG}title")]
    assert len(titles) == len(explanation.segments) and any("rsqrt" in title for title in titles)
    boxes = [element for element in root.iter(f"{SVG}rect")]
    assert len(boxes) == 1 + len(graph_of(explanation.segments).nodes)


@pytest.mark.parametrize("name", ["graph.dot", "graph.gv", "GRAPH.DOT"])
def test_dot(block, tmp_path, name):
    fd, inputs, explanation = block
    fd.draw(str(tmp_path / name), inputs, _enable_options=KERNELS)
    text = (tmp_path / name).read_text()
    assert text == dot_text(graph_of(explanation.segments))
    assert text.startswith("digraph fusion {") and text.endswith("}\n")
    statements = re.compile(r'  \w+( -> \w+)? \[(\w+=("(\\.|[^"\\])*"|\w+)(, )?)+\];')
    assert all(statements.fullmatch(line) for line in text.splitlines()[1:-1])


def test_profile_shows_times(block, tmp_path):
    fd, inputs, _ = block
    fd.draw(tmp_path / "graph.dot", inputs, profile=True)
    assert re.search(r"\d+\.\d+ (us|ms)\\l", (tmp_path / "graph.dot").read_text())


def test_without_inputs(tmp_path):
    """Before the first run what the definition says, afterwards the run before."""
    inputs = plain_inputs()
    fd = defined(plain_block, inputs)
    fd.draw(tmp_path / "before.dot", _enable_options=KERNELS)
    assert "fec" not in vars(fd)
    before = (tmp_path / "before.dot").read_text()
    assert "sdpa_fwd" in before and "kernel" in before and "[2, 24, 64]" in before
    fd.execute(inputs, _enable_options=KERNELS)
    fd.draw(tmp_path / "after.dot")
    after = (tmp_path / "after.dot").read_text()
    assert "kernel: pointwise" in after and "sdpa_fwd" in after


def test_sizes_that_are_not_known_are_named(tmp_path):
    fd = defined(lambda fd, x: fd.ops.exp(x), [torch.randn(3, 4)], static_sizes=False)
    fd.draw(tmp_path / "graph.dot")
    assert re.search(r"T0 float \[i\d+, i\d+\] \(input 0\)", (tmp_path / "graph.dot").read_text())


def test_operators_are_escaped(tmp_path):
    x = torch.randn(4)
    fd = defined(lambda fd, t: fd.ops.where(fd.ops.lt(t, 0.0), t, fd.ops.neg(t)), [x])
    fd.draw(tmp_path / "graph.svg", [x])
    titles = [element.text for element in ElementTree.parse(tmp_path / "graph.svg").iter(f"{SVG}title")]
    assert any("<" in title for title in titles)


def test_a_fusion_of_nothing_but_inputs(tmp_path):
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1], contiguity=True))
    for name in ("graph.svg", "graph.dot"):
        fd.draw(tmp_path / name, [torch.randn(2)])
        assert (tmp_path / name).stat().st_size > 0


def test_hundreds_of_segments(tmp_path):
    def build(fd, x):
        for _ in range(150):
            x = fd.ops.matmul(fd.ops.exp(x), x)
        return x

    x = torch.randn(2, 2)
    fd = defined(build, [x])
    fd.draw(tmp_path / "graph.svg")
    assert len(list(ElementTree.parse(tmp_path / "graph.svg").iter(f"{SVG}title"))) >= 150


# --- Graphviz ---


def test_graphviz_draws_where_it_is_installed(block, tmp_path):
    fd, inputs, explanation = block
    fake_dot(tmp_path, 'echo "made with $1"\nexec 3<&0\nwhile read -r line <&3; do echo "$line"; done\n')
    for ending in ("svg", "png", "pdf"):
        fd.draw(tmp_path / f"graph.{ending}", inputs, _enable_options=KERNELS)
        content = (tmp_path / f"graph.{ending}").read_text()
        assert content.startswith(f"made with -T{ending}\ndigraph fusion {{")


def test_graphviz_that_fails(block, tmp_path):
    fd, inputs, _ = block
    fake_dot(tmp_path, "echo 'no plugin' >&2; exit 3\n")
    fd.draw(tmp_path / "graph.svg", inputs)
    assert ElementTree.parse(tmp_path / "graph.svg").getroot().tag == f"{SVG}svg"
    with pytest.raises(RuntimeError, match="dot failed: no plugin"):
        fd.draw(tmp_path / "graph.png", inputs)
    assert not (tmp_path / "graph.png").exists()


# --- errors ---


def test_errors(block, tmp_path):
    fd, inputs, _ = block
    for name in ("graph.txt", "graph", "graph.jpeg", ""):
        with pytest.raises(ValueError, match=r"\.dot, \.gv, \.svg, \.png, \.pdf"):
            fd.draw(name, inputs)
    with pytest.raises(RuntimeError, match="need Graphviz.*apt-get install graphviz"):
        fd.draw(tmp_path / "graph.png", inputs)
    with pytest.raises(ValueError, match="needs inputs"):
        fd.draw(tmp_path / "graph.svg", profile=True)
    with pytest.raises(OSError):
        fd.draw(tmp_path / "no_folder" / "graph.svg", inputs)
    with pytest.raises(TypeError):
        fd.draw(3)
    with pytest.raises(RuntimeError, match="inputs"):
        fd.draw(tmp_path / "graph.svg", [])
    with pytest.raises(NotImplementedError, match="does not exist"):
        FusionDefinition().draw(tmp_path / "graph.svg")
    with FusionDefinition() as empty:
        empty.define_tensor([-1], contiguity=True)
    with pytest.raises(NotImplementedError, match="is empty"):
        empty.draw(tmp_path / "graph.svg")
