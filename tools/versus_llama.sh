#!/usr/bin/env bash
# Runs the agentic benchmark against llama.cpp's server and against colugo, one after the other: see --help.
set -euo pipefail

usage() {
    cat <<'HELP'
Usage: tools/versus_llama.sh CHECKPOINT --llama FOLDER [options] [-- FLAGS OF COLUGO SERVE]

Converts CHECKPOINT (a plain bf16, f16 or f32 one) to GGUF, quantizes it, and runs `colugo bench agentic` against

  reference   llama-server -c 32768 -np 1 --reasoning off --flash-attn on --seed 42, the configuration of the benchmark
  best        the same with --spec-type draft-mtp --spec-draft-n-max 3
  colugo      colugo serve with MODEL

Prints the runs side by side. Nothing else should run on the machine: llama.cpp's threads wait for each other.

  --llama FOLDER           llama.cpp's programs: llama-server, llama-quantize
  --model MODEL            what colugo serves (default: nano)
  --types TYPES            of the GGUF, separated by commas (default: Q8_0,Q4_0)
  --configurations NAMES   of llama-server, separated by commas (default: reference,best)
  --data FILE              the conversations (default: the sample)
  --limit-conversations N  the first N of them
  --threads N              of each server (default: the number of processors)
  --out DIR                results (default: versus-llama): one folder for each run, and comparison.txt
  --colugo PROGRAM         (default: build/release/src/cli/colugo)
  --python PROGRAM         with numpy and gguf, for the conversion (default: python3)

Runs whose folder is there already are not made again.
HELP
}

here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
model=nano types=Q8_0,Q4_0 configurations=reference,best out=versus-llama threads=$(nproc)
colugo=$here/../build/release/src/cli/colugo python=python3 checkpoint='' llama='' workload=() flags=()
while (($# > 0)); do
    case $1 in
        --help | -h)
            usage
            exit 0
            ;;
        --)
            flags=("${@:2}")
            break
            ;;
        --llama | --model | --types | --configurations | --threads | --out | --colugo | --python | --data | --limit-conversations)
            if (($# < 2)); then
                echo "tools/versus_llama.sh: $1 needs a value (see --help)" >&2
                exit 2
            fi
            case $1 in
                --data | --limit-conversations) workload+=("$1" "$2") ;;
                *)
                    name=${1#--}
                    printf -v "$name" '%s' "$2"
                    ;;
            esac
            shift
            ;;
        -*)
            echo "tools/versus_llama.sh: unknown option '$1' (see --help)" >&2
            exit 2
            ;;
        *) checkpoint=$1 ;;
    esac
    shift
done
if [[ -z $checkpoint || -z $llama ]]; then
    usage >&2
    exit 2
fi
for program in "$llama/llama-server" "$llama/llama-quantize" "$colugo"; do
    if [[ ! -x $program ]]; then
        echo "tools/versus_llama.sh: there is no program $program" >&2
        exit 1
    fi
done
export LD_LIBRARY_PATH=$llama${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
mkdir -p "$out"

server=
stop_server() {
    if [[ -n $server ]]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
        server=
    fi
}
trap stop_server EXIT

# start_llama GGUF LOG FLAGS...: waits until it is ready; its address is in `url`.
start_llama() {
    local gguf=$1 log=$2 port
    shift 2
    port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    "$llama/llama-server" -m "$gguf" -t "$threads" --host 127.0.0.1 --port "$port" -c 32768 -np 1 --reasoning off \
        --flash-attn on --seed 42 "$@" >"$log" 2>&1 &
    server=$!
    url=http://127.0.0.1:$port/v1
    for ((i = 0; i < 600; ++i)); do
        if "$python" -c "import urllib.request as r; r.urlopen('http://127.0.0.1:$port/health')" 2>/dev/null; then
            return
        fi
        if ! kill -0 "$server" 2>/dev/null; then break; fi
        sleep 1
    done
    echo "tools/versus_llama.sh: llama-server did not start; the end of $log:" >&2
    tail -5 "$log" >&2
    exit 1
}

plain=$out/model.gguf
if [[ ! -f $plain ]]; then
    "$python" -B "$here/export_gguf.py" "$checkpoint" "$plain"
fi
runs=()
for type in ${types//,/ }; do
    gguf=$out/model-$type.gguf
    if [[ ! -f $gguf ]]; then
        "$llama/llama-quantize" "$plain" "$gguf" "$type" >"$out/quantize-$type.log" 2>&1
    fi
    for configuration in ${configurations//,/ }; do
        extra=()
        case $configuration in
            reference) ;;
            best) extra=(--spec-type draft-mtp --spec-draft-n-max 3) ;;
            *)
                echo "tools/versus_llama.sh: unknown configuration '$configuration': expected reference or best" >&2
                exit 2
                ;;
        esac
        run=$out/llama-$type-$configuration
        runs+=("$run")
        if [[ -d $run ]]; then continue; fi
        echo "== $run" >&2
        start_llama "$gguf" "$run.log" "${extra[@]}"
        # A run with a turn that failed is a result too.
        "$colugo" bench agentic --url "$url" "${workload[@]}" --out "$run" || true
        stop_server
    done
done
run=$out/colugo
if [[ ! -d $run ]]; then
    echo "== $run" >&2
    "$colugo" bench agentic --model "$model" "${workload[@]}" --out "$run" -- --threads "$threads" \
        "${flags[@]}"
fi
"$colugo" bench compare "${runs[@]}" "$run" | tee "$out/comparison.txt"
