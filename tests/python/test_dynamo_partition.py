"""The partitioner alone, on graphs traced with fake tensors: which nodes form a region, and in which order steps run."""

import pytest
import torch
from nvfuser.dynamo.partition import Partitioner, Region, op_name
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx


def plan_of(function, *shapes, **settings):
    with FakeTensorMode():
        inputs = [torch.empty(shape) for shape in shapes]
        graph = make_fx(function)(*inputs).graph
    return Partitioner(graph, **settings).run()


def steps_of(plan):
    """Fused steps as sets of op names, eager ones as the name."""
    names = []
    for step in plan.steps:
        short = lambda n: op_name(n).split(".")[1]  # noqa: E731
        names.append({short(n) for n in step.computing()} if isinstance(step, Region) else short(step))
    return names


def assert_runs_in_order(plan):
    """Every step finds its operands made; every node of the output is made."""
    made = {n for n in plan.graph.nodes if n.op == "placeholder"}
    for step in plan.steps:
        operands = step.inputs if isinstance(step, Region) else step.all_input_nodes
        assert set(operands) <= made
        made.update(step.outputs if isinstance(step, Region) else [step])
    (output,) = [n for n in plan.graph.nodes if n.op == "output"]
    assert set(output.all_input_nodes) <= made


def test_connected_ops_form_one_region():
    plan = plan_of(lambda x: (x + 1).exp() * x, (4, 5))
    assert steps_of(plan) == [{"add", "exp", "mul"}]


def test_ops_that_share_nothing_are_separate():
    plan = plan_of(lambda x, y: (x.exp(), y.sin()), (4, 5), (3,))
    assert steps_of(plan) == [{"exp"}, {"sin"}]


def test_ops_that_read_the_same_tensor_are_together():
    plan = plan_of(lambda x: (x.exp(), x.sin()), (4, 5))
    assert steps_of(plan) == [{"exp", "sin"}]


def test_no_circle_through_an_eager_op():
    def function(x):
        a = x.exp()
        b = a.flip(0)
        return a.sin() + b  # the add needs the flip, which needs the exp

    plan = plan_of(function, (4, 5))
    assert steps_of(plan) == [{"exp", "sin"}, "flip", {"add"}]
    assert_runs_in_order(plan)


def test_trailing_views_run_in_eager():
    plan = plan_of(lambda x: x.exp().t(), (4, 5))
    assert steps_of(plan) == [{"exp"}, "t"]
    (region,) = plan.regions()
    assert [op_name(n) for n in region.outputs] == ["aten.exp.default"]


def test_a_view_used_on_both_sides_is_built_on_both():
    def function(x):
        v = x.exp().t()
        return v + 1, v

    plan = plan_of(function, (4, 5))
    assert steps_of(plan) == [{"exp", "add"}, "t"]
    assert_runs_in_order(plan)


def test_views_of_inputs_are_read_through():
    plan = plan_of(lambda x, w: x @ w.t(), (4, 5), (6, 5))
    (region,) = plan.regions()
    assert [n.op for n in region.inputs] == ["placeholder", "placeholder"]
    assert steps_of(plan) == [{"mm"}]


def test_factories_are_built_where_they_are_used():
    def function(x):
        fill = torch.ops.aten.full.default([4, 5], 2.0)
        return (x + fill).flip(0) + fill

    plan = plan_of(function, (4, 5))
    assert steps_of(plan) == [{"add"}, "flip", {"add"}]
    assert all("full" in {op_name(n).split(".")[1] for n in r.nodes} for r in plan.regions())


def test_a_copy_alone_stays_in_eager():
    plan = plan_of(lambda x: (x.clone(), x.flip(0).double()), (4, 5))
    assert not plan.regions()
    assert ("aten.clone.default", "a copy alone") in plan.eager_reasons


def test_small_regions_stay_in_eager_when_asked():
    plan = plan_of(lambda x: x.exp().sin().flip(0) + 1, (4, 5), min_ops=2)
    assert steps_of(plan) == [{"exp", "sin"}, "flip", "add"]
    assert plan.eager_reasons[("aten.add.Tensor", "fewer than 2 ops")] == 1


@pytest.mark.parametrize("name", ["aten.sin", "aten.sin.default"])
def test_disabled_ops(name):
    plan = plan_of(lambda x: x.exp().sin().cos(), (4, 5), disabled=frozenset({name}))
    assert steps_of(plan) == [{"exp"}, "sin", {"cos"}]


def test_reasons_of_eager_nodes():
    plan = plan_of(lambda x: (x.flip(0), x.to(torch.int8) + 1), (4, 5))
    assert plan.eager_reasons[("aten.flip.default", "no row in the op table")] == 1
    assert plan.eager_reasons[("aten.add.Tensor", "dtype int8")] == 1


def test_random_ops_keep_their_order():
    def function(x):
        late = torch.bernoulli(x.exp())  # waits for a fusion
        early = torch.randint(3, (3,))  # waits for nothing
        return late, early

    plan = plan_of(function, (4, 5))
    assert steps_of(plan)[-2:] == ["bernoulli", "randint"]
    assert_runs_in_order(plan)


def test_tuple_results():
    plan = plan_of(lambda x: [t * 2 for t in torch.var_mean(x, 1)], (4, 5))
    (region,) = plan.regions()
    assert {op_name(n) for n in region.outputs} == {"aten.mul.Tensor"}
    plan = plan_of(lambda x: [t.flip(0) for t in torch.var_mean(x, 1)], (4, 5))
    (region,) = plan.regions()
    assert [op_name(n) for n in region.outputs] == ["getitem", "getitem"]
    assert_runs_in_order(plan)


def test_refused_nodes_go_to_eager_with_the_reason():
    plan = plan_of(lambda x: x.exp().sin(), (4, 5))
    (region,) = plan.regions()
    refused = {region.nodes[0]: "made up"}
    plan = Partitioner(plan.graph, refused=refused).run()
    assert steps_of(plan) == ["exp", {"sin"}]
    assert plan.eager_reasons == {("aten.exp.default", "made up"): 1}


def test_partitioning_a_long_graph_takes_linear_time():
    import time

    def seconds(length):
        def function(x):
            for i in range(length):
                x = (x + 1).sin() if i % 7 else x.flip(0)
            return x

        with FakeTensorMode():
            graph = make_fx(function)(torch.empty(4)).graph
        start = time.perf_counter()
        assert_runs_in_order(Partitioner(graph).run())
        return time.perf_counter() - start

    seconds(100)
    assert seconds(2000) < 60 * max(seconds(200), 0.01)
