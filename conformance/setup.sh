#!/bin/sh
# Brings a Debian 12 with a Rust toolchain to what the build, the tests and the demo need. Installs only what is
# missing; a second run costs a few milliseconds. Run by the Makefile; safe to run by hand.
#   conformance/setup.sh build     compilers, libraries, and the Python clients that come with the YANG modules
#   conformance/setup.sh test      and the network tools, the broker that tests start, and the test runner
#   conformance/setup.sh bench     and the peers of the bench, whose own services are neither started nor enabled
set -eu

level=${1:-test}
root=$(cd "$(dirname "$0")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
tools=$target/tools
venv=$target/venv
stamp=$target/setup-$level.stamp
own=$root/conformance/setup.sh
requirements=$root/conformance/python-requirements.txt

nextest_version=0.9.143

build_packages="cmake gcc g++ make pkg-config libpcre2-dev ca-certificates python3 python3-venv"
test_packages="iproute2 nftables tshark tcpdump ethtool openssh-client openssl curl procps tmux clang libbpf-dev libelf-dev zlib1g-dev yangcli"
# Programs that tests start themselves; their own services are neither started nor enabled.
test_peers="mosquitto"
bench_peers="netconfd openssh-server"

say() { echo "setup: $*" >&2; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null 2>&1; then sudo "$@"
    else
        say "must be root, or have sudo, to run: $*"
        exit 1
    fi
}

# Installs those of the named Debian packages that are missing.
packages() {
    missing=
    for package in "$@"; do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$state" = installed ] || missing="$missing $package"
    done
    [ -z "$missing" ] && return 0
    command -v apt-get >/dev/null 2>&1 || { say "no apt-get here; install the equivalents of:$missing"; exit 1; }
    say "installing$missing"
    log=$target/setup-apt.log
    if ! { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update &&
        as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install $missing; } \
        >"$log" 2>&1 </dev/null; then
        tail -n 20 "$log" >&2
        say "apt-get failed; the whole log is $log"
        exit 1
    fi
}

# Installs peers, each named as its package. Debian starts and enables what it installs, but tests and bench start
# their own, on loopback.
peers() {
    policy=/usr/sbin/policy-rc.d
    fresh=
    [ -e /usr/sbin/sshd ] || fresh="$fresh ssh"
    [ -e /usr/sbin/mosquitto ] || fresh="$fresh mosquitto"
    if [ ! -e "$policy" ]; then
        trap 'as_root rm -f "$policy"' EXIT
        as_root sh -c "printf '#!/bin/sh\\nexit 101\\n' >$policy && chmod 755 $policy"
    fi
    packages "$@"
    [ -d /run/systemd/system ] || return 0
    for service in $fresh; do
        [ -e "/lib/systemd/system/$service.service" ] || continue
        as_root systemctl --quiet disable "$service.service"
        say "$service.service is left disabled; systemctl enable --now $service.service starts it"
    done
}

# Makes the Python environment with the clients that the tests drive.
python_clients() {
    # Debian's own interpreter has the venv package that is installed above; others bring theirs.
    python=/usr/bin/python3
    [ -x "$python" ] || python=python3
    "$venv/bin/pip" --version >/dev/null 2>&1 || "$python" -m venv --clear "$venv"
    say "installing the Python clients into $venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-input -r "$requirements" >&2
}

# Finds or builds the test runner.
test_runner() {
    if [ -x "$tools/bin/cargo-nextest" ]; then return 0; fi
    if cargo nextest --version 2>/dev/null | grep -q '^cargo-nextest '; then return 0; fi
    say "building cargo-nextest $nextest_version (once, some minutes)"
    cargo install --quiet --locked --debug --root "$tools" cargo-nextest --version "$nextest_version" >&2
}

case $level in
build | test | bench) ;;
*)
    say "unknown level $level; build, test or bench"
    exit 1
    ;;
esac

mkdir -p "$target"
if [ -f "$stamp" ] && [ "$stamp" -nt "$own" ] && [ "$stamp" -nt "$requirements" ]; then exit 0; fi
command -v cargo >/dev/null 2>&1 || { say "no cargo on the PATH; install a Rust toolchain (https://rustup.rs)"; exit 1; }
case $level in
build)
    packages $build_packages
    python_clients
    ;;
test)
    sh "$own" build
    packages $test_packages
    peers $test_peers
    test_runner
    ;;
bench)
    sh "$own" test
    peers $bench_peers
    ;;
esac
touch "$stamp"
