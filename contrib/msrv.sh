#!/bin/sh
# Builds this with the oldest Rust that it supports, and as a newcomer would: in a fresh Debian 13, with the packages that README names, as an
# ordinary user. All targets are checked and the demo is run; with a second argument, the tests are run as well.
#
#   sh contrib/msrv.sh FOLDER [test]        (make msrv, make msrv TEST=1)
#
# FOLDER keeps the Debian and what was built in it for the next time. Nothing else is written, and nothing stays mounted: all mounts are made in
# a mount namespace that ends with this. Debian's packages come from where this machine's apt gets its own, and crates from where cargo does.
# Where that is impossible, one line says why, and nothing is done.
set -eu
folder=$(realpath -m "$1") test=${2:-}
cd "$(dirname "$0")/.."
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
packages=$(sed -n 's/.*`apt install \([^`]*\)`.*/\1/p' README.md | head -n 1)
release=trixie

skip() {
  echo "skipped: msrv: $1"
  exit 0
}

# What is checked, as the ordinary user, in the folder of the project.
checks="cargo --version
cargo check --workspace --all-targets --locked --quiet
cargo check --workspace --features iopilot/ublk --all-targets --locked --quiet
make demo"
[ -z "$test" ] || checks="$checks
make test"

case $(cargo --version 2>&1) in
"cargo $oldest".*)
  echo "$checks" | sh -eux
  exit 0
  ;;
esac

[ "$(id -u)" = 0 ] || skip "a Debian of its own needs root"
for program in apt-get dpkg-deb cargo chroot runuser tar unshare; do
  command -v $program >/dev/null || skip "needs $program"
done
if [ -z "${IOPILOT_MSRV_INSIDE:-}" ]; then
  unshare --mount --pid --fork true 2>/dev/null || skip "this root may not make namespaces"
  # From here on all mounts are this script's alone.
  exec env IOPILOT_MSRV_INSIDE=1 unshare --mount --pid --fork --kill-child --propagation private \
    sh contrib/msrv.sh "$folder" "$test"
fi

# The first process of a namespace is deaf to what it has not asked for.
trap 'exit 130' INT TERM
mkdir -p "$folder"
root=$folder/debian-$release home=$folder/debian-$release/home/newcomer
log=$folder/log

# Ends with what went wrong, as far as it was told.
failed() {
  tail -n 15 "$log"
  echo "msrv: $1; all of it is in $log" >&2
  exit 1
}

# apt with package lists of its own: this machine's are left alone.
own_apt() {
  apt-get -c "$folder/apt/conf" "$@"
}

prepare_apt() {
  mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial"
  cat >"$folder/apt/conf" <<END
Dir::State::lists "$folder/apt/lists";
Dir::Cache "$folder/apt/cache";
APT::Sandbox::User "root";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
END
}

# A folder with the Debian, made under another name until it is whole.
bootstrap() {
  prepare_apt
  # It may fail for a source that matters nothing here.
  own_apt update >"$log" 2>&1 || true
  mirror=$(own_apt indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' 'Component: main' | head -n 1)
  [ -n "$mirror" ] || skip "apt reaches no mirror of Debian: $(tail -n 1 "$log")"
  if command -v debootstrap >/dev/null; then
    set -- debootstrap
  else
    # Not installed: it is a script.
    (cd "$folder/apt" && own_apt download debootstrap && dpkg-deb -x debootstrap_*.deb .) >>"$log" 2>&1 ||
      skip "needs debootstrap"
    export DEBOOTSTRAP_DIR="$folder/apt/usr/share/debootstrap"
    set -- sh "$folder/apt/usr/sbin/debootstrap"
  fi
  keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  [ ! -e $keyring ] || set -- "$@" --keyring=$keyring
  eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
  [ -z "${http_proxy:-}" ] || export http_proxy
  [ -z "${https_proxy:-}" ] || export https_proxy
  echo "msrv: Debian $release is made in $root"
  rm -rf "$root.partial"
  "$@" --variant=minbase $release "$root.partial" "$mirror" >>"$log" 2>&1 || skip "debootstrap failed: $(tail -n 1 "$log")"
  # A link there may lead nowhere.
  rm -f "$root.partial/etc/resolv.conf"
  cp -L /etc/resolv.conf "$root.partial/etc/resolv.conf"
  # As README says it.
  mount -t proc proc "$root.partial/proc"
  chroot "$root.partial" sh -c "export DEBIAN_FRONTEND=noninteractive; apt-get update && apt-get install -y $packages" \
    >>"$log" 2>&1 || failed "apt install $packages failed"
  umount "$root.partial/proc"
  chroot "$root.partial" useradd --create-home newcomer
  echo "$packages" >"$root.partial/packages"
  rm -rf "$root" "$folder/apt"
  mv "$root.partial" "$root"
}

[ "$(cat "$root/packages" 2>/dev/null)" = "$packages" ] || bootstrap

# The project as it stands here, with what was built of it there before.
mkdir -p "$home/iopilot"
find "$home/iopilot" -mindepth 1 -maxdepth 1 ! -name target -exec rm -rf {} +
if git ls-files >/dev/null 2>&1; then
  git ls-files -z --cached --others --exclude-standard
else
  find . -name target -prune -o -type f -print0
fi >"$folder/files"
tar -c --null --ignore-failed-read --files-from="$folder/files" | tar -x -C "$home/iopilot"

# Crates as they were fetched here: there need be no network there.
cargo fetch --locked --quiet
cargo_home=${CARGO_HOME:-$HOME/.cargo}
mkdir -p "$home/.cargo/registry"
cp -a --update "$cargo_home/registry/index" "$cargo_home/registry/cache" "$home/.cargo/registry/"
[ ! -e "$cargo_home/config.toml" ] || cp "$cargo_home/config.toml" "$home/.cargo/"
chroot "$root" chown -R newcomer: /home/newcomer

mount -t proc proc "$root/proc"
echo "cd ~/iopilot
export CARGO_NET_OFFLINE=true
set -eux
$checks" | env -i TERM="${TERM:-dumb}" PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" runuser --login newcomer -c 'sh -s'
