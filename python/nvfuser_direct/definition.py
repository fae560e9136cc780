"""FusionDefinition: define a fusion in a with block, then run it."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from nvfuser_direct import _C_DIRECT as _C
from nvfuser_direct.draw import draw, ending_of
from nvfuser_direct.explain import Explanation, explain, segments_from
from nvfuser_direct.kernels import KernelExecutor
from nvfuser_direct.pytorch_utils import torch_dtype_to_nvfuser_dtype
from nvfuser_direct.repro import repro_script
from nvfuser_direct.validation import clone_inputs, compare_outputs

# A definition gets one executor, whichever thread runs it first.
_first_run = threading.Lock()


def _flat(inputs: Iterable[Any]) -> list[Any]:
    """The inputs without the nesting of lists and tuples."""
    result = []
    for value in inputs:
        if isinstance(value, (list, tuple)):
            result += _flat(value)
        else:
            result.append(value)
    return result


class FusionDefinition:
    """A fusion, defined operation by operation and run on torch tensors.

    >>> with FusionDefinition() as fd:
    ...     x = fd.define_tensor(shape=[-1, -1], contiguity=True)
    ...     fd.add_output(fd.ops.exp(x))
    >>> (y,) = fd.execute([torch.randn(2, 3)])

    Free attributes may be set. `ops` and `sched` are the modules of operators and of schedule functions; `fec` is the
    executor, from the first run on.
    """

    ops = _C.ops
    sched = _C.schedule

    # The fusion until the executor takes it over; the guard while the with block runs.
    _fusion: Any = None
    _fusion_guard: Any = None
    _failed = False

    def __init__(self) -> None:
        self._fusion = None
        self._fusion_guard = None

    # --- the with block

    def __enter__(self) -> FusionDefinition:
        if self._fusion_guard is not None:
            raise RuntimeError("this FusionDefinition is being defined already: its with block is active")
        if self._fusion is not None or self._executor() is not None:
            raise RuntimeError("this FusionDefinition is defined already; make a new FusionDefinition()")
        self._fusion = _C.Fusion()
        self._fusion_guard = _C.FusionGuard(self._fusion)
        return self

    def __exit__(self, exc_type: Any, exc: Any, exc_traceback: Any) -> None:
        guard, self._fusion_guard = self._fusion_guard, None
        if guard is not None:
            guard.__exit__(None, None, None)
        if exc_type is not None:
            self._failed = True
            print(f"Exception while the fusion was being defined: {exc_type.__name__}: {exc}")
            print("".join(traceback.format_exception(exc_type, exc, exc_traceback)), end="")

    def _executor(self) -> Any:
        return self.__dict__.get("fec")

    @property
    def fusion(self) -> Any:
        """The Fusion: the executor's from the first run on; None before the with block."""
        executor = self._executor()
        return executor.fusion() if executor is not None else self._fusion

    def __repr__(self) -> str:
        """The text of a Python function nvfuser_fusion(fd) that defines this fusion again."""
        fusion = self.fusion
        if fusion is None:
            return "<FusionDefinition without a fusion>"
        return _C.translate_fusion(fusion)

    def _active(self, method: str) -> Any:
        """The fusion, if operations are added to it at present."""
        if self._fusion_guard is None or self._fusion is None:
            raise RuntimeError(f"{method}: no Fusion is being defined; use it inside `with FusionDefinition() as fd:`")
        if _C._active_fusion() is not self._fusion:
            raise RuntimeError(f"{method}: the with block of another FusionDefinition is active")
        return self._fusion

    # --- inputs and outputs

    def define_tensor(self, *args: Any, **kwargs: Any) -> Any:
        """A tensor input, in one of three forms (all parameters also by position):

        - (shape, contiguity: list | tuple of bool | None, dtype=DataType.Float, is_cpu=False, stride_order=[])
        - (shape, contiguity: bool = False, dtype=DataType.Float, is_cpu=False, stride_order=[])
        - (sizes, strides, dtype=DataType.Float, static_sizes=False, is_cpu=False)

        shape: -1 symbolic, 1 broadcast, 0 or more than 1 static. contiguity: one flag per dim in memory order, None
        for a broadcast dim or (where the size is not 1) an expanded one. stride_order: rank of each dim in memory,
        0 = fastest. is_cpu: a 0-dim tensor on the CPU beside CUDA tensors.
        Returns a TensorView. RuntimeError: a size below -1, lengths that differ, a stride_order that is no
        permutation, is_cpu with dims. TypeError: arguments that fit no form.
        """
        fusion = self._active("define_tensor")
        tensor = _C.define_tensor(*args, **kwargs)
        fusion.add_input(tensor)
        return tensor

    def define_scalar(self, *args: Any, **kwargs: Any) -> Any:
        """A scalar: (dtype=DataType.Double) a symbolic one, which becomes an input; (value, dtype=None) a constant.

        With value None it is a symbolic one of `dtype`. A constant is cast to `dtype`; without dtype complex gives
        ComplexDouble, float Double, int and bool Int. Returns a Val. RuntimeError: value None without dtype.
        """
        fusion = self._active("define_scalar")
        scalar = _C.define_scalar(*args, **kwargs)
        if scalar.is_symbolic():
            fusion.add_input(scalar)
        return scalar

    def define_vector(self, size: int) -> list[Any]:
        """`size` symbolic Int scalars, each an input; at run time they may be given as one list or tuple."""
        if not isinstance(size, int) or isinstance(size, bool):
            raise TypeError(f"define_vector: size must be an int, not {type(size).__name__}")
        if size < 0:
            raise RuntimeError(f"define_vector: size must not be negative: {size}")
        return [self.define_scalar(_C.DataType.Int) for _ in range(size)]

    def add_output(self, *args: Any, **kwargs: Any) -> None:
        """add_output(output) returns the tensor from each run, in the order of these calls.

        add_output(output, alias_input) writes it into the storage of the input tensor `alias_input` instead; it is
        returned only if it is also added plainly. RuntimeError: a scalar, a tensor of another fusion, an alias_input
        that is no input or has another dtype or rank.
        """
        if self._fusion is None:
            raise RuntimeError("add_output: no Fusion is being defined; use it inside `with FusionDefinition() as fd:`")
        self._fusion.add_output(*args, **kwargs)

    def from_pytorch(self, tensor: torch.Tensor, static_sizes: bool = False) -> Any:
        """A tensor input like a torch tensor: dtype, contiguity, stride order, and which sizes are 1.

        Other sizes become symbolic unless static_sizes. A 0-dim CPU tensor gives is_cpu=True. TypeError when `tensor`
        is none or has a dtype that the IR lacks, ValueError when it is on a device other than CPU, CUDA or meta.
        """
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"from_pytorch: expected a torch.Tensor, got {type(tensor).__name__}")
        if tensor.device.type not in ("cpu", "cuda", "meta"):
            raise ValueError(f"Found unsupported device {tensor.device}, only scalar CPU or CUDA tensors are supported")
        return self.define_tensor(
            sizes=tuple(tensor.shape),
            strides=tuple(tensor.stride()),
            dtype=torch_dtype_to_nvfuser_dtype(tensor.dtype),
            static_sizes=static_sizes,
            is_cpu=tensor.dim() == 0 and tensor.device.type == "cpu",
        )

    # --- running

    def validate_definition(self) -> tuple[bool, str]:
        """(True, "") when the definition can run, else (False, the reason)."""
        fusion = self.fusion
        if fusion is None:
            return False, "Fusion does not exist! Use `with FusionDefinition() as fd: ...` to define a fusion."
        if self._fusion_guard is not None:
            return False, "Fusion is not finished! Its with block is still active."
        if self._failed:
            return False, "Fusion is not finished! Its with block ended with an exception."
        if not fusion.outputs():
            return False, "Fusion is empty! Add an output with fd.add_output."
        return True, ""

    def _make_executor(self) -> Any:
        if "ke" in self.__dict__:
            raise AssertionError("KernelExecutor already exists! Use manual_execute() to execute the fusion.")
        valid, message = self.validate_definition()
        if not valid:
            raise NotImplementedError(message)
        with _first_run:
            executor = self._executor()
            if executor is None:
                executor = self.fec = _C.FusionExecutorCache(self._fusion)
                del self._fusion
        return executor

    def execute(
        self,
        inputs: Iterable[Any],
        *,
        device: int | str | torch.device | None = None,
        save_repro_inputs: bool | None = False,
        _enable_options: Sequence[str] = (),
        _disable_options: Sequence[str] = (),
    ) -> list[torch.Tensor]:
        """Runs the fusion and returns the list of its outputs.

        inputs: torch tensors and Python numbers in definition order; nested lists and tuples are flattened. device:
        where the fusion runs (default: the tensors' common device). save_repro_inputs: keep the shapes of the inputs
        for last_repro_script. Nothing is recorded for autograd.
        NotImplementedError: the definition does not exist, is not finished or has no outputs. RuntimeError, naming the
        input: wrong count, kind, dtype, rank, size, stride class or device; an unknown option.
        """
        try:
            executor = self.fec
        except AttributeError:
            executor = self._make_executor()
        if save_repro_inputs:
            inputs = list(inputs)
            self._save_inputs(inputs)
        if _enable_options or _disable_options:
            return executor.execute(
                inputs, device=device, _enable_options=_enable_options, _disable_options=_disable_options
            )
        return executor.execute(inputs, device=device)

    def explain(
        self,
        inputs: Iterable[Any],
        *,
        profile: bool = False,
        runs: int = 20,
        device: int | str | torch.device | None = None,
        _enable_options: Sequence[str] = (),
        _disable_options: Sequence[str] = (),
    ) -> Explanation:
        """What a run with these inputs does: its segments in order, who runs each and why, and what each moves.

        Compiles what a run would compile, and runs nothing; after manual_execute it explains that kernel. profile=True also runs the fusion `runs` times (inputs
        that it writes are copied first, the random state is put back) and measures the median time of each segment
        and its share of the bandwidth of a copy. The options count where this is the first time that inputs of this
        class are seen. Returns an Explanation: print() it, read its attributes, or take .to_dict().
        Errors as execute; ValueError: runs is no positive int.
        """
        manual = self.__dict__.get("ke")
        executor = manual.cache if manual is not None else self._executor() or self._make_executor()
        options = (_enable_options or None, _disable_options or None)
        return explain(executor, list(inputs), device, profile, runs, options)

    def draw(
        self,
        path: str | os.PathLike,
        inputs: Iterable[Any] | None = None,
        *,
        profile: bool = False,
        device: int | str | torch.device | None = None,
        _enable_options: Sequence[str] = (),
        _disable_options: Sequence[str] = (),
    ) -> None:
        """Draws the fusion as it is segmented: inputs, segments with their operations, outputs, tensors between them.

        path: a name that ends with .svg, .dot or .gv, or, where Graphviz is installed, .png or .pdf. inputs: those of
        the run to draw, with profile=True also measured (see explain). Without inputs it is the run before, sizes left
        open; before the first run, what the definition alone says of runs on CPU tensors.
        ValueError: another ending, or profile without inputs. RuntimeError: .png or .pdf without Graphviz. OSError: the
        file cannot be written. Else errors as execute.
        """
        ending_of(path)
        if inputs is not None:
            explanation = self.explain(
                inputs,
                profile=profile,
                device=device,
                _enable_options=_enable_options,
                _disable_options=_disable_options,
            )
            draw(explanation.segments, path)
            return
        if profile:
            raise ValueError("draw: profile=True needs inputs to run with")
        manual = self.__dict__.get("ke")
        executor = manual.cache if manual is not None else self._executor()
        if executor is not None and executor.num_runtimes() > 0:
            reports = executor._most_recent_report()
        else:
            valid, message = self.validate_definition()
            if not valid:
                raise NotImplementedError(message)
            reports = _C._planned_report(self.fusion, _enable_options or None, _disable_options or None)
        draw(segments_from(reports, [], None), path)

    def last_kernel_code(self) -> str:
        """The sources of the generated kernels of the most recent run; empty when ATen evaluated all of it.

        RuntimeError: the fusion has not been executed yet.
        """
        executor = self._executor()
        if executor is None:
            raise RuntimeError("the fusion has not been executed yet")
        return executor.last_kernel_code()

    def _save_inputs(self, inputs: Iterable[Any]) -> None:
        from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

        mode = FakeTensorMode()

        def saved(value: Any) -> Any:
            # A FakeTensor given by the caller belongs to a mode of its own and needs no saving.
            if isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor):
                return mode.from_tensor(value.detach(), static_shapes=True)
            return value

        self.fake_inputs = [saved(value) for value in _flat(inputs)]

    def validate(
        self,
        inputs: Iterable[Any],
        reference_outputs: Sequence[torch.Tensor] | None = None,
        device: int | str | torch.device | None = None,
        **kwargs: Any,
    ) -> list[torch.Tensor]:
        """Runs the fusion, compares the outputs with references and returns them.

        Without references the definition is evaluated node by node through ATen. kwargs go to execute. RuntimeError,
        naming the output: count, shape, dtype or values (see get_val_tolerances) differ.
        """
        args = _flat(inputs)
        before = clone_inputs(args)
        outputs = self.execute(args, device=device, **kwargs)
        references = _C._evaluate(self.fusion, before) if reference_outputs is None else reference_outputs
        compare_outputs(self.fusion, before, outputs, references)
        return outputs

    def manual_execute(self, inputs: Iterable[Any], heuristic_params: Any = None) -> list[torch.Tensor]:
        """Runs the fusion as one CPU kernel, by the schedule that its tensors have; the list of its outputs.

        The first run compiles, through a KernelExecutor that is then `ke`; schedule changes after it count for
        nothing. heuristic_params (its lparams and cparams) changes nothing on the CPU. AssertionError: execute() has
        made an executor already. NotImplementedError: the definition cannot run, or the inputs are on CUDA.
        RuntimeError: an operation is none of generated kernels (matmul, attention, ...), the schedule cannot be carried
        out, or the inputs do not fit.
        """
        if self._executor() is not None:
            raise AssertionError("FusionExecutorCache already exists! Use execute() to execute the fusion.")
        inputs = list(inputs)
        if "ke" not in self.__dict__:
            valid, message = self.validate_definition()
            if not valid:
                raise NotImplementedError(message)
            with _first_run:
                if "ke" not in self.__dict__:
                    executor = KernelExecutor()
                    executor.compile(self._fusion, inputs)
                    self.ke = executor
        return self.ke.run(inputs)

    def manual_validate(
        self, inputs: Iterable[Any], reference_outputs: Sequence[torch.Tensor] | None = None
    ) -> list[torch.Tensor]:
        """validate through manual_execute: compares with references, or the definition evaluated through ATen.

        NotImplementedError without references where the schedule has split a reduction (rfactor). Else errors as
        validate and manual_execute.
        """
        if self._executor() is not None:
            raise AssertionError("a FusionExecutorCache exists for this definition. Use validate()")
        args = _flat(inputs)
        before = clone_inputs(args)
        outputs = self.manual_execute(args)
        references = _C._evaluate(self.fusion, before) if reference_outputs is None else reference_outputs
        compare_outputs(self.fusion, before, outputs, references)
        return outputs

    # --- scripts

    def repro_script_for(self, inputs: Iterable[Any] | None = None) -> str:
        """A script that defines this fusion and, given inputs, runs it on tensors of their sizes and strides."""
        if self.fusion is None:
            raise NotImplementedError(
                "Fusion does not exist! Use `with FusionDefinition() as fd: ...` to define a fusion."
            )
        return repro_script(repr(self), None if inputs is None else list(inputs))

    def last_repro_script(self) -> str:
        """repro_script_for the inputs of the last `execute(inputs, save_repro_inputs=True)`, else AssertionError."""
        if "fake_inputs" not in self.__dict__:
            # Callers match this text.
            raise AssertionError(
                "fd.last_repro_script() cannot provide a repro because "
                "fd.execute(inputs, save_repro_inputs=True) was not executed!"
            )
        return self.repro_script_for(self.fake_inputs)
