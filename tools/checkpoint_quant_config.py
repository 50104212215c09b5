"""Which module is stored how in each published format, and how the config files say so."""

import re

FORMATS = ("bf16", "f32", "f16", "nvfp4-w4a4", "nvfp4-w4a16", "fp8", "fp8-block", "mixed", "ct-nvfp4")
MODELOPT_ALGORITHMS = {"nvfp4": "NVFP4", "w4a16": "W4A16_NVFP4", "fp8": "FP8"}

MLP = r"mlp\.(gate|up|down)_proj"
ATTENTION = r"self_attn\.[qkvo]_proj"
GDN_IN = r"linear_attn\.in_proj_(qkv|z)"
GDN_OUT = r"linear_attn\.out_proj"
EVERY = "|".join((MLP, ATTENTION, GDN_IN, GDN_OUT))
LAYER_SCHEMES = {
    "nvfp4-w4a4": {EVERY: "nvfp4"},
    "nvfp4-w4a16": {EVERY: "w4a16"},
    "fp8": {EVERY: "fp8"},
    "fp8-block": {EVERY: "fp8_block"},
    "mixed": {MLP: "w4a16", f"{ATTENTION}|{GDN_IN}|{GDN_OUT}": "fp8"},
    "ct-nvfp4": {f"{MLP}|{ATTENTION}|{GDN_OUT}": "ct_nvfp4"},
}
# What `--lm-head nvfp4` and `--mtp nvfp4` mean beside each format, so that one file has one producer.
NVFP4_BESIDE = {"nvfp4-w4a16": "w4a16", "mixed": "w4a16", "ct-nvfp4": "ct_nvfp4"}
FP8_BESIDE = {"fp8-block": "fp8_block"}


def scheme_beside(format_, storage):
    """The scheme of a module outside the layers that is to be stored as bf16, nvfp4 or fp8 in a file of `format_`."""
    if storage == "bf16":
        return None
    if (storage == "nvfp4" and format_ == "fp8-block") or (storage == "fp8" and format_ == "ct-nvfp4"):
        raise SystemExit(f"{storage} modules cannot be declared in a {format_} checkpoint")
    return NVFP4_BESIDE.get(format_, "nvfp4") if storage == "nvfp4" else FP8_BESIDE.get(format_, "fp8")


def module_scheme(module, format_, lm_head, mtp):
    """The scheme of the linear `module` (a name without prefix and `.weight`), None where it is not quantized."""
    if module == "lm_head":
        return scheme_beside(format_, lm_head)
    if module == "mtp.fc":
        return None  # published checkpoints leave it alone even where the rest of the head is quantized
    if module.startswith("mtp."):
        return scheme_beside(format_, mtp)
    for pattern, scheme in LAYER_SCHEMES.get(format_, {}).items():
        if re.fullmatch(r"layers\.\d+\.(" + pattern + ")", module):
            return scheme
    return None


def quant_configs(format_, schemes, plain, prefix, kv_fp8):
    """(quantization_config for config.json, hf_quant_config.json); None where there is none.

    `schemes` maps each quantized module to its scheme, `plain` lists the other modules, both by name in the file.
    """
    if not schemes and not kv_fp8:
        return None, None
    if format_ == "fp8-block":
        return _fp8_block(plain, kv_fp8), None
    if format_ == "ct-nvfp4":
        return _compressed_tensors(plain, kv_fp8), None
    return _modelopt(format_, schemes, plain, prefix, kv_fp8)


KV_SCHEME = {"dynamic": False, "num_bits": 8, "type": "float"}


def _fp8_block(plain, kv_fp8):
    config = {
        "activation_scheme": "dynamic",
        "fmt": "e4m3",
        "quant_method": "fp8",
        "weight_block_size": [128, 128],
        "modules_to_not_convert": plain,
    }
    if kv_fp8:
        config["kv_cache_scheme"] = KV_SCHEME
    return config


def _compressed_tensors(plain, kv_fp8):
    group = {"num_bits": 4, "type": "float", "symmetric": True, "strategy": "tensor_group", "group_size": 16}
    return {
        "quant_method": "compressed-tensors",
        "format": "nvfp4-pack-quantized",
        "quantization_status": "compressed",
        "global_compression_ratio": None,
        "ignore": plain,
        "kv_cache_scheme": KV_SCHEME if kv_fp8 else None,
        "config_groups": {
            "group_0": {
                "format": "nvfp4-pack-quantized",
                "targets": ["Linear"],
                "output_activations": None,
                "weights": {**group, "dynamic": False},
                "input_activations": {**group, "dynamic": "local"},
            }
        },
    }


def _group(scheme, targets):
    bits = (
        {"dynamic": False, "num_bits": 8, "type": "float"}
        if scheme == "fp8"
        else {"dynamic": False, "num_bits": 4, "type": "float", "group_size": 16}
    )
    group = {"weights": bits, "targets": targets}
    return group if scheme == "w4a16" else {"input_activations": dict(bits), **group}


def _modelopt(format_, schemes, plain, prefix, kv_fp8):
    producer = {"name": "modelopt", "version": "0.41.0"}
    used = sorted(set(schemes.values()))
    quantization = {"quant_algo": None, "kv_cache_quant_algo": "FP8" if kv_fp8 else None}
    # One algorithm for all modules but the excluded ones, or a list of modules with the algorithm of each.
    if len(used) == 1 and format_ in LAYER_SCHEMES and format_ != "mixed":
        whole_head = not any(name.startswith("mtp.") for name in schemes)  # is stored as plain values
        exclude = [name for name in plain if not (whole_head and name.startswith("mtp."))] + [
            prefix.split("language_model.")[0] + "visual*"
        ]
        if whole_head:
            exclude.append("mtp*")
        quantization.update(quant_algo=MODELOPT_ALGORITHMS[used[0]], exclude_modules=exclude)
        if used[0] != "fp8":
            quantization["group_size"] = 16
        groups = {"group_0": _group(used[0], ["Linear"])}
    elif used:
        layers = {
            name: {"quant_algo": MODELOPT_ALGORITHMS[scheme], **({} if scheme == "fp8" else {"group_size": 16})}
            for name, scheme in schemes.items()
        }
        quantization.update(quant_algo="MIXED_PRECISION", exclude_modules=[], quantized_layers=layers)
        groups = {
            f"group_{i}": _group(scheme, [name for name in schemes if schemes[name] == scheme])
            for i, scheme in enumerate(used)
        }
    else:
        groups = {}
    mirrored = {
        "quant_method": "modelopt",
        "producer": producer,
        "quant_algo": quantization["quant_algo"],
        "config_groups": groups,
        "ignore": quantization.get("exclude_modules", []),
        "kv_cache_scheme": KV_SCHEME if kv_fp8 else None,
    }
    if "quantized_layers" in quantization:
        mirrored["quantized_layers"] = quantization["quantized_layers"]
    return mirrored, {"producer": producer, "quantization": quantization}
