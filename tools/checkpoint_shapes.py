"""Shapes of the Qwen3.5 family: the dimensions of each model, its config.json, and its list of tensors."""

from dataclasses import dataclass

ROPE = dict(
    rope_type="default",
    rope_theta=10000000.0,
    partial_rotary_factor=0.25,
    mrope_section=[11, 11, 10],
    mrope_interleaved=True,
)


def _shape(vocab, hidden, intermediate, layers, heads, kv_heads, key_heads, value_heads, tied):
    return dict(
        vocab_size=vocab,
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        linear_num_key_heads=key_heads,
        linear_num_value_heads=value_heads,
        tie_word_embeddings=tied,
    )


# tiny has three value heads for each key head, which shows a wrong head order; tiny-r1 has one, is tied, and leaves
# vocabulary rows without a token.
SHAPES = {
    "tiny": _shape(512, 128, 256, 4, 2, 1, 2, 6, False),
    "tiny-r1": _shape(640, 192, 320, 8, 4, 2, 3, 3, True),
    "0.8b": _shape(248320, 1024, 3584, 24, 8, 2, 16, 16, True),
    "2b": _shape(248320, 2048, 6144, 24, 8, 2, 16, 16, True),
    "4b": _shape(248320, 2560, 9216, 32, 16, 4, 16, 32, True),
    "9b": _shape(248320, 4096, 12288, 32, 16, 4, 16, 32, False),
    "27b": _shape(248320, 5120, 17408, 64, 24, 4, 16, 48, False),
}
DEFAULTS = dict(
    head_dim=256,
    linear_key_head_dim=128,
    linear_value_head_dim=128,
    linear_conv_kernel_dim=4,
    full_attention_interval=4,
    max_position_embeddings=262144,
    rms_norm_eps=1e-6,
)


def complete(shape):
    """A shape with every default filled in and layer_types spelled out."""
    shape = {**DEFAULTS, **shape}
    if "layer_types" not in shape:
        interval = shape["full_attention_interval"]
        shape["layer_types"] = [
            "linear_attention" if (i + 1) % interval else "full_attention" for i in range(shape["num_hidden_layers"])
        ]
    return shape


@dataclass(frozen=True)
class Parameter:
    """One weight before quantization. `name` has no prefix: `layers.0.mlp.up_proj.weight`, `embed_tokens.weight`."""

    name: str
    shape: tuple
    kind: str  # linear | embedding | conv | norm | gated_norm | A_log | dt_bias: decides the distribution and the dtype


def _attention(shape):
    hidden, dim = shape["hidden_size"], shape["head_dim"]
    heads, kv_heads = shape["num_attention_heads"] * dim, shape["num_key_value_heads"] * dim
    return [
        ("q_proj.weight", (2 * heads, hidden), "linear"),
        ("k_proj.weight", (kv_heads, hidden), "linear"),
        ("v_proj.weight", (kv_heads, hidden), "linear"),
        ("o_proj.weight", (hidden, heads), "linear"),
        ("q_norm.weight", (dim,), "norm"),
        ("k_norm.weight", (dim,), "norm"),
    ]


def _gated_delta_net(shape):
    hidden, value_heads = shape["hidden_size"], shape["linear_num_value_heads"]
    value_dim = value_heads * shape["linear_value_head_dim"]
    conv_dim = 2 * shape["linear_num_key_heads"] * shape["linear_key_head_dim"] + value_dim
    return [
        ("in_proj_qkv.weight", (conv_dim, hidden), "linear"),
        ("in_proj_z.weight", (value_dim, hidden), "linear"),
        ("in_proj_b.weight", (value_heads, hidden), "linear"),
        ("in_proj_a.weight", (value_heads, hidden), "linear"),
        ("conv1d.weight", (conv_dim, 1, shape["linear_conv_kernel_dim"]), "conv"),
        ("A_log", (value_heads,), "A_log"),
        ("dt_bias", (value_heads,), "dt_bias"),
        ("norm.weight", (shape["linear_value_head_dim"],), "gated_norm"),
        ("out_proj.weight", (hidden, value_dim), "linear"),
    ]


def _layer(shape, full):
    hidden, intermediate = shape["hidden_size"], shape["intermediate_size"]
    yield "input_layernorm.weight", (hidden,), "norm"
    mixer, parameters = ("self_attn", _attention) if full else ("linear_attn", _gated_delta_net)
    for name, size, kind in parameters(shape):
        yield f"{mixer}.{name}", size, kind
    yield "post_attention_layernorm.weight", (hidden,), "norm"
    yield "mlp.gate_proj.weight", (intermediate, hidden), "linear"
    yield "mlp.up_proj.weight", (intermediate, hidden), "linear"
    yield "mlp.down_proj.weight", (hidden, intermediate), "linear"


def parameters(shape):
    """Every weight of the model with its MTP head, in file order. `lm_head.weight` is there unless it is tied."""
    hidden, vocab = shape["hidden_size"], shape["vocab_size"]
    result = [Parameter("embed_tokens.weight", (vocab, hidden), "embedding")]
    for index, layer_type in enumerate(shape["layer_types"]):
        result += [
            Parameter(f"layers.{index}.{name}", size, kind)
            for name, size, kind in _layer(shape, layer_type == "full_attention")
        ]
    result.append(Parameter("norm.weight", (hidden,), "norm"))
    if not shape["tie_word_embeddings"]:
        result.append(Parameter("lm_head.weight", (vocab, hidden), "linear"))
    for name in ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm"):
        result.append(Parameter(f"mtp.{name}.weight", (hidden,), "norm"))
    result.append(Parameter("mtp.fc.weight", (hidden, 2 * hidden), "linear"))
    return result + [Parameter(f"mtp.layers.0.{name}", size, kind) for name, size, kind in _layer(shape, True)]


def file_name(name, prefix):
    """The name in the file: trunk weights get the prefix, lm_head and mtp are at top level."""
    return name if name.startswith(("lm_head", "mtp.")) else prefix + name


VISION_STUB = dict(
    model_type="qwen3_5",
    depth=1,
    hidden_size=64,
    intermediate_size=128,
    num_heads=1,
    in_channels=3,
    patch_size=16,
    spatial_merge_size=2,
    temporal_patch_size=2,
    num_position_embeddings=64,
)


def config_json(shape, dtype, ids, nested):
    """The published form of config.json. `ids` maps control token texts to their ids (missing ones are left out)."""
    end = ids.get("<|endoftext|>")
    text = dict(
        model_type="qwen3_5_text",
        attention_bias=False,
        attention_dropout=0.0,
        attn_output_gate=True,
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=None,
        dtype=dtype,
        hidden_act="silu",
        initializer_range=0.02,
        mamba_ssm_dtype="float32",
        mtp_num_hidden_layers=1,
        mtp_use_dedicated_embeddings=False,
        rope_parameters=dict(ROPE),
        use_cache=True,
    )
    text.update(shape)
    vision = {
        "image_token_id": "<|image_pad|>",
        "video_token_id": "<|video_pad|>",
        "vision_start_token_id": "<|vision_start|>",
        "vision_end_token_id": "<|vision_end|>",
    }
    vision = {key: ids[token] for key, token in vision.items() if token in ids}
    if not nested:
        return {"architectures": ["Qwen3_5ForCausalLM"], **text, **vision}
    return {
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "model_type": "qwen3_5",
        "language_model_only": False,
        "tie_word_embeddings": shape["tie_word_embeddings"],
        **vision,
        "text_config": text,
        "vision_config": {**VISION_STUB, "out_hidden_size": shape["hidden_size"]},
    }
