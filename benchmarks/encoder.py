"""The demo's sentence encoder, forward, batch 8 of 128 tokens: eager, torch.compile (Inductor) and ``backend="nvfuser"``.

    python benchmarks/encoder.py [--threads 2] [--rounds 11]

All three run in this process and take turns; the figures are medians. Needs the demo's packages (``make venv-demo``).
"""

from __future__ import annotations

import argparse
import os
import statistics
import time

os.environ.setdefault("NVFUSER_ENABLE", "generated_kernels")

import nvfuser  # noqa: E402, F401  (registers the backend)
import torch  # noqa: E402
from nvfuser.demo_model import load_encoder  # noqa: E402
from nvfuser.info import cpu_model  # noqa: E402

BATCH, LENGTH, VOCABULARY = 8, 128, 30000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model = load_encoder().eval()
    torch.manual_seed(0)
    ids = torch.randint(1000, VOCABULARY, (BATCH, LENGTH))
    mask = torch.ones(BATCH, LENGTH, dtype=torch.bool)
    mask[:, LENGTH - 20 :] = False
    sides = {
        "eager": model,
        "inductor": torch.compile(model, dynamic=False),
        "nvfuser": torch.compile(model, backend="nvfuser", dynamic=False),
    }
    times: dict[str, list[float]] = {name: [] for name in sides}
    with torch.no_grad():
        expected = model(ids, mask)
        for name, side in sides.items():
            start = time.perf_counter()
            error = (side(ids, mask) - expected).abs().max().item()
            print(f"{name}: first call {time.perf_counter() - start:.2f} s, largest difference from eager {error:.1e}")
            if not error < 1e-4:
                raise AssertionError(f"{name} differs from eager by {error:.1e}")
        for _ in range(options.rounds):
            for name, side in sides.items():
                start = time.perf_counter()
                side(ids, mask)
                times[name].append(time.perf_counter() - start)
    medians = {name: 1e3 * statistics.median(values) for name, values in times.items()}
    print(f"{cpu_model()}, {options.threads} threads, torch {torch.__version__}")
    print(", ".join(f"{name} {value:.2f} ms" for name, value in medians.items()))
    print(
        f"ratio to Inductor {medians['inductor'] / medians['nvfuser']:.2f},"
        f" to eager {medians['eager'] / medians['nvfuser']:.2f}"
    )


if __name__ == "__main__":
    main()
