#!/usr/bin/env bash
# The whole walk on real legal documents: build the data, fine-tune, measure, predict long files as a job that is
# killed and resumed before your eyes, and explain the answers.
#
#   bash scripts/demo.sh          a stated subset, frozen encoder: minutes on two cores
#   bash scripts/demo.sh --full   every document, every layer trained: hours on two cores
#
# What is finished is not done again; remove `runs/demo` to start over.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
prepare_environment demo
python=$environment_python longdoc=$environment_folder/bin/longdoc
data=data/built/licences-demo runs=runs/demo config=configs/finetune_licences.yaml subset=(--subset 320)
if [ "${1:-}" = --full ]; then
  data=data/built/licences runs=runs/full config=configs/finetune_full.yaml subset=()
elif [ $# -gt 0 ]; then
  echo "usage: bash scripts/demo.sh [--full]" >&2
  exit 2
fi
mkdir -p "$runs"
step() { printf '\n== %s\n' "$*"; }

step "1. Licence texts and their categories, from an installed package"
[ -f "$data/stats.json" ] || "$python" data/licences.py --output "$data" "${subset[@]}"
"$longdoc" inspect lengths --input "$data/train.jsonl"

step "2. Fine-tune MiniLM: all chunks of each document, merged by attention"
[ -f "$runs/all/longdoc.json" ] || "$longdoc" train --config "$config" \
  --data "$data/train.jsonl" --validation "$data/validation.jsonl" --output "$runs/all"

step "3. The same encoder, truncated to the first 512 tokens"
[ -f "$runs/head/longdoc.json" ] || "$longdoc" train --config "$config" --set chunking.keep=head \
  --data "$data/train.jsonl" --validation "$data/validation.jsonl" --output "$runs/head"

step "4. Measure both on held-out documents, beside TF-IDF + logistic regression"
for kind in all head; do
  [ -f "$runs/$kind-test/metrics.json" ] || "$longdoc" evaluate --model "$runs/$kind" \
    --data "$data/test.jsonl" --output "$runs/$kind-test" >"$runs/$kind-test.log"
done
[ -f "$runs/tfidf/metrics.json" ] || "$python" data/baseline.py --data "$data" --output "$runs/tfidf"
"$python" scripts/table.py "MiniLM, all chunks, attention=$runs/all-test/metrics.json" \
  "MiniLM, first 512 tokens=$runs/head-test/metrics.json" "TF-IDF + logistic regression=$runs/tfidf/metrics.json"

step "5. Predict the longest held-out texts as a job; kill -9 it; run the same command again"
job=("$longdoc" predict --model "$runs/all" --input "$data/long" --output "$runs/long" --set job.documents_per_part=1)
if [ ! -f "$runs/long/_manifest.json" ]; then
  if [ -z "$(ls "$runs/long" 2>/dev/null | grep part-)" ]; then
    "${job[@]}" &
    process=$!
    until ls "$runs/long" 2>/dev/null | grep -q part- || ! kill -0 "$process" 2>/dev/null; do sleep 0.2; done
    kill -9 "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
    echo "killed with $(ls "$runs/long" | grep -c part-) of $(ls "$data/long" | wc -l) parts on disk"
  fi
  "${job[@]}"
else
  echo "finished before: $runs/long"
fi
"$longdoc" verify "$runs/long"
"$longdoc" export "$runs/long" "$runs/long.jsonl"

step "6. Which passages carried the answers"
[ -f "$runs/report.html" ] || "$longdoc" explain --model "$runs/all" --input "$data/long" --limit 3 \
  --output "$runs/report.html"
printf '\nThe report: %s\nThe model:  %s   (predict your own: .venv/bin/longdoc predict --model %s --input FILES --output OUT)\n' \
  "$PWD/$runs/report.html" "$runs/all" "$runs/all"
