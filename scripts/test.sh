#!/usr/bin/env bash
# Sets `.venv` up if needed and runs the tests. Everything but --all goes to pytest.
#
#   bash scripts/test.sh                     the default suite
#   bash scripts/test.sh --all               also the tiers slow, crash and distributed
#   bash scripts/test.sh tests/unit/text -x  a part of it
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh
prepare_environment dev

arguments=(-v -n 2 --dist worksteal) # against the -q of pyproject.toml: the closing line in full; two workers, one thread each
for argument in "$@"; do
  if [ "$argument" = --all ]; then arguments+=(-m "not gpu"); else arguments+=("$argument"); fi
done
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
exec "$environment_python" -m pytest "${arguments[@]}"
