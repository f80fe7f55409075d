#!/bin/sh
# Puts in place what oraccl needs beside Go: a C and C++ compiler, pkg-config,
# Z3, HiGHS, the SAT solver CaDiCaL with the proof checkers drat-trim and
# lrat-check, the prover cvc5, and the vendor directory. Run it as often as you
# like: when nothing has changed it does nothing.
#
# Three kinds of user are served:
#   root, or a user with sudo   system packages by apt; what is built goes to /usr/local
#   any other                   everything goes to .deps in the checkout, and
#                               .deps/env.sh says how to build with it
#
# HiGHS is taken from the first of these that compiles, links and runs a program:
# what is installed, the distribution's package, the distribution's source archive.
# CaDiCaL is taken from what is installed, if that writes LRAT, else from its source
# archive; so are the checkers.
#
# "setup.sh coq" puts in place instead what only the theorems need: Coq, and OCaml with two
# libraries for the checker that is proved, as packages, where packages can be installed.
#
# "setup.sh browser" puts in place instead what only tests in a browser need: a Chromium
# without windows, as a package. Where there is none, it says so, and all else works.
#
# "setup.sh programs" puts in place all of it but vendor/, and asks the Go module proxy for
# nothing: what an image of a container has before it has the source.
#
#   ORACCL_CHROMIUM=PROGRAM  the browser to take
#   ORACCL_PREFIX=DIR   install what is built below DIR
#   ORACCL_MIRROR=URL   a Debian mirror to take the sources from (default: those
#                       that apt is configured with; no host is written down here)
set -eu
cd "$(dirname "$0")/../.."
top=$(pwd -P)
deps=$top/.deps
PREFIX=${ORACCL_PREFIX:-}

HIGHS_VERSION=1.10.0
HIGHS_ARCHIVE=highs_$HIGHS_VERSION+ds.orig.tar.xz
HIGHS_SHA256=5964fc1ca4f0b23dd45987bbed1838f2e570e96aa624635ac63d277152b6c94a

CADICAL_VERSION=1.7.4
CADICAL_ARCHIVE=cadical_$CADICAL_VERSION.orig.tar.gz
CADICAL_SHA256=866c8a1332ff1ad5dc7ad403bdef3164420f3f947816b5c9509aad1d18ada7a1

DRAT_TRIM_ARCHIVE=drat-trim_0.0~git20240428.effa1dc.orig.tar.gz
DRAT_TRIM_SHA256=367fdf2ca1bd18d9a5de84dd2c2d159289c97ed86c0842346f60c5125d5f3034

say() { printf '==> %s\n' "$*"; }
die() {
	printf 'setup: %s\n' "$*" >&2
	exit 1
}

# --- has anything changed? ---------------------------------------------------

# The stamp has a key and the files that must be there. The key changes with this
# script, the module files, the packages imported from other modules, the
# directory and the prefix.
key() {
	{
		printf '%s\n' "$top" "${ORACCL_PREFIX:-}"
		cat cmd/setup/setup.sh go.mod go.sum
		find . -path ./vendor -prune -o -path ./.deps -prune -o -name '*.go' -exec grep -hoE '"[a-z0-9-]+\.[a-z]+/[^" ]+"' {} + |
			grep -v '"github.com/oraccl/' | sort -u
	} | sha256sum
}
unchanged() {
	[ -f "$deps/stamp" ] || return 1
	[ "$(sed -n 1p "$deps/stamp")" = "$(key)" ] || return 1
	sed 1d "$deps/stamp" | while IFS= read -r f; do
		[ -e "$f" ] || exit 1
	done
}
# The same for the browser: its file holds the path of one that works, an empty line where
# none could be installed, and the checksum of this script.
tried=no
case ${1:-} in
'') if unchanged; then exit 0; fi ;;
browser)
	if [ -n "${ORACCL_CHROMIUM:-}" ]; then exit 0; fi
	if [ -f "$deps/browser" ] && [ "$(sed 1d "$deps/browser")" = "$(sha256sum <cmd/setup/setup.sh)" ]; then
		browser=$(sed -n 1p "$deps/browser")
		if [ -x "$browser" ]; then exit 0; fi
		if [ -z "$browser" ]; then tried=yes; fi
	fi
	;;
coq) if command -v coqc >/dev/null && ocamlfind query zarith yojson >/dev/null 2>&1; then exit 0; fi ;;
programs) ;;
*) echo "setup: $1: want nothing, browser, coq or programs" >&2; exit 2 ;;
esac

# --- tools -------------------------------------------------------------------

case $top in
*[!A-Za-z0-9_./+@=:,-]*) die "the directory $top has a character in its name that compilers or pkg-config stumble over, such as a blank: move the checkout" ;;
esac
command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin
command -v go >/dev/null || die "go is not in PATH: install Go 1.26 or later"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$deps"

# What an earlier run wrote to env.sh may be in the environment: take it out. (In
# PATH it does no harm.)
PKG_CONFIG_PATH=$(printf %s "${PKG_CONFIG_PATH:-}" | tr : '\n' | grep -vxF "$deps/lib/pkgconfig" | paste -sd : -)
if [ -n "$PKG_CONFIG_PATH" ]; then export PKG_CONFIG_PATH; else unset PKG_CONFIG_PATH; fi
case ${PKG_CONFIG:-} in "$deps"/*) unset PKG_CONFIG ;; esac
case ${CGO_CFLAGS:-} in *"$deps"/*) unset CGO_CFLAGS CGO_CXXFLAGS CGO_LDFLAGS ;; esac

# may_root reports whether as_root works. It asks for a password only if there is
# somebody at the terminal, and only once something must be installed.
privileged=
may_root() {
	if [ -z "$privileged" ]; then
		privileged=no
		if [ "$(id -u)" = 0 ]; then
			privileged=yes
		elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; }; then
			privileged=yes
		fi
	fi
	[ $privileged = yes ]
}
as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# try runs a command in silence and shows its end if it fails.
try() {
	if "$@" >"$tmp/log" 2>&1 </dev/null; then return 0; fi
	tail -n 20 "$tmp/log" >&2
	return 1
}

# Without root, packages are unpacked to $root, with package lists of our own
# (those of the system may be missing, and only root may fetch them).
root=$deps/root
user_path=$PATH
user_library_path=${LD_LIBRARY_PATH:-}
my_apt_get() {
	apt-get -q -o Dir::State::lists="$deps/apt/lists" -o Dir::Cache="$deps/apt/cache" -o Debug::NoLocking=1 "$@"
}
my_lists() {
	if [ -f "$deps/apt/updated" ]; then return 0; fi
	mkdir -p "$deps/apt/lists/partial" "$deps/apt/cache/archives/partial"
	try my_apt_get update && : >"$deps/apt/updated"
}
unpack_packages() {
	command -v apt-get >/dev/null && command -v dpkg >/dev/null || return 1
	my_lists || return 1
	mkdir -p "$root"
	my_apt_get -s --no-install-recommends install "$@" >"$tmp/plan" || return 1
	mkdir -p "$tmp/debs"
	for p in $(sed -n 's/^Inst \([^ ]*\) .*/\1/p' "$tmp/plan"); do
		(cd "$tmp/debs" && try my_apt_get download "$p") || return 1
	done
	for f in "$tmp"/debs/*.deb; do
		dpkg -x "$f" "$root" || return 1
	done
	rm -rf "$tmp/debs"
	use_root
}
# use_root lets this script run unpacked programs.
use_root() {
	triplet=$(cc -print-multiarch 2>/dev/null || :)
	PATH=$root/usr/bin:$user_path
	export LD_LIBRARY_PATH="$root/usr/lib/$triplet:$root/lib/$triplet${user_library_path:+:$user_library_path}"
}
install_packages() {
	command -v apt-get >/dev/null || return 1
	set -- env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 --no-install-recommends install "$@"
	try as_root "$@" 2>/dev/null || { try as_root apt-get -q -o DPkg::Lock::Timeout=600 update && try as_root "$@"; }
}

# need makes a test succeed by means of packages. Compilers cannot be unpacked to
# another place, so that those need root.
need() { # test, packages
	if $1; then return 0; fi
	say "installing $2"
	if may_root; then
		install_packages $2 || die "please install: $2"
	elif [ "$2" = build-essential ]; then
		die "without root no compiler can be installed; ask an administrator to run: apt-get install $2 pkg-config cmake libz3-dev"
	else
		unpack_packages $2 || die "cannot unpack $2 without root; ask an administrator to run: apt-get install $2"
	fi
	hash -r
	$1 || die "still missing after installing $2 (see: $1 in cmd/setup/setup.sh)"
}

has_compilers() { command -v "${CC:-cc}" >/dev/null && command -v "${CXX:-c++}" >/dev/null && echo 'int main(){return 0;}' >"$tmp/c.cc" && "${CXX:-c++}" "$tmp/c.cc" -o "$tmp/c" 2>/dev/null; }
has_pkg_config() { command -v "${PKG_CONFIG:-pkg-config}" >/dev/null; }
has_cmake() { command -v cmake >/dev/null; }
has_make() { command -v make >/dev/null; }
has_xz() { command -v xz >/dev/null; }

# --- Z3 ----------------------------------------------------------------------

z3_include=
z3_lib=
has_z3() { # compile, link and run; sets z3_include and z3_lib if it is in $root
	cat >"$tmp/z3.c" <<-'C'
		#include <z3.h>
		int main(void) { unsigned a, b, c, d; Z3_get_version(&a, &b, &c, &d); return a == 4 && b >= 8 ? 0 : 1; }
	C
	if "${CC:-cc}" "$tmp/z3.c" -o "$tmp/z3" -lz3 2>/dev/null && "$tmp/z3"; then return 0; fi
	triplet=$(cc -print-multiarch 2>/dev/null || :)
	[ -f "$root/usr/include/z3.h" ] || return 1
	"${CC:-cc}" -I"$root/usr/include" "$tmp/z3.c" -o "$tmp/z3" -L"$root/usr/lib/$triplet" \
		-Wl,-rpath,"$root/usr/lib/$triplet" -Wl,--disable-new-dtags -lz3 2>/dev/null && "$tmp/z3" || return 1
	z3_include=$root/usr/include
	z3_lib=$root/usr/lib/$triplet
}

# --- HiGHS -------------------------------------------------------------------

pc() { "${PKG_CONFIG:-pkg-config}" "$@"; }

# A highs.pc that is found proves nothing: that of Debian 13 names directories
# which do not exist, and the one that HiGHS installs lacks what a static library
# needs. So compile, link and run what the shim in solve/lp/highs calls.
has_highs() {
	pc --exists highs 2>/dev/null || return 1
	cat >"$tmp/highs.c" <<-'C'
		#include <stdint.h>
		#include <interfaces/highs_c_api.h>
		static void on_event(int t, const char *m, const HighsCallbackDataOut *o, HighsCallbackDataIn *i, void *d) { (void)t, (void)m, (void)o, (void)i, (void)d; }
		int main(void) {
			const double one = 1;
			const HighsInt zero = 0;
			double x = 0;
			void *h = Highs_create();
			int ok = Highs_versionMajor() == 1 && sizeof(HighsInt) == 4 && Highs_setBoolOptionValue(h, "output_flag", 0) == 0 &&
				Highs_passModel(h, 1, 1, 1, 0, 2, 1, -1, 0, &one, &one, &one, &one, &one, &zero, &zero, &one, 0, 0, 0, 0) == 0 &&
				Highs_setCallback(h, on_event, 0) == 0 && Highs_startCallback(h, kHighsCallbackMipImprovingSolution) == 0 &&
				Highs_zeroAllClocks(h) == 0 && Highs_run(h) == 0 && Highs_getSolution(h, &x, 0, 0, 0) == 0 && x == 1;
			Highs_destroy(h);
			Highs_resetGlobalScheduler(1);
			return !ok;
		}
	C
	# shellcheck disable=SC2046 # pkg-config's words are words
	"${CC:-cc}" "$tmp/highs.c" -o "$tmp/highs" $(pc --cflags --libs highs) 2>/dev/null && "$tmp/highs" >/dev/null
}

# put writes standard input to a file of the prefix.
put() {
	cat >"$tmp/put"
	if [ -w "$(dirname "$1")" ] || mkdir -p "$(dirname "$1")" 2>/dev/null && [ -w "$(dirname "$1")" ]; then
		install -m 644 "$tmp/put" "$1"
	else
		as_root mkdir -p "$(dirname "$1")" && as_root install -m 644 "$tmp/put" "$1"
	fi
}
write_pc() { # version, cflags, libs
	put "$PREFIX/lib/pkgconfig/highs.pc" <<-PC
		Name: HiGHS
		Description: Linear optimization software, put in place by oraccl
		Version: $1
		Cflags: $2
		Libs: $3
	PC
}

highs_from_package() {
	may_root && command -v apt-cache >/dev/null || return 1
	[ -n "$(apt-cache madison libhighs-dev 2>/dev/null)" ] || return 1
	say "installing libhighs-dev"
	install_packages libhighs-dev || return 1
	if has_highs; then return 0; fi
	[ -f /usr/include/highs/interfaces/highs_c_api.h ] || return 1
	say "the package's highs.pc does not work: writing $PREFIX/lib/pkgconfig/highs.pc"
	write_pc "$(dpkg-query -W -f '${Version}' libhighs-dev | sed 's/[^0-9.].*//')" -I/usr/include/highs -lhighs
	has_highs
}

good_archive() { # file, sha256
	[ -f "$1" ] && echo "$2  $1" | sha256sum -c --quiet >/dev/null 2>&1
}

# mirrors prints those that apt uses. Where they carry Ubuntu, which has HiGHS only
# in some releases, Debian is often next to it.
mirrors() {
	if [ -n "${ORACCL_MIRROR:-}" ]; then echo "$ORACCL_MIRROR"; fi
	for apt in apt-get my_apt_get; do
		$apt indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null
	done | awk '$1 ~ /^(Debian|Ubuntu)$/ && !seen[$2]++ { print $2; if (sub(/\/ubuntu\/?$/, "/debian/", $2)) print $2 }'
}
download() { # address, file, sha256
	if [ -x /usr/lib/apt/apt-helper ] && try /usr/lib/apt/apt-helper download-file "$1" "$2" "SHA256:$3" 2>/dev/null; then return 0; fi
	if command -v curl >/dev/null && try curl -fsSL --retry 3 -o "$2" "$1" 2>/dev/null; then return 0; fi
	command -v wget >/dev/null && try wget -q -O "$2" "$1" 2>/dev/null
}

# fetch puts a source archive of Debian's into .deps. An archive's name begins with
# that of its package.
fetch() { # archive, sha256
	if good_archive "$deps/$1" "$2"; then return 0; fi
	say "downloading $1"
	if [ -z "$(mirrors)" ]; then
		if may_root; then try as_root apt-get -q update || :; else my_lists || :; fi
	fi
	package=${1%%_*}
	for m in $(mirrors); do
		for section in main universe; do
			download "${m%/}/pool/$section/$(printf %.1s "$package")/$package/$1" "$tmp/archive" "$2" || continue
			if good_archive "$tmp/archive" "$2"; then
				mv "$tmp/archive" "$deps/$1"
				return 0
			fi
		done
	done
	die "no mirror of apt's has $1 (sha256 $2): put that file into .deps, or name a Debian mirror in ORACCL_MIRROR"
}

# highs_licences prints that of HiGHS and those of what is linked into it, below a directory of
# its sources.
highs_licences() {
	(cd "$1" && for f in LICENSE.txt extern/LICENCE_1_0.txt extern/filereaderlp/LICENSE extern/pdqsort/license.txt; do
		[ "$f" = LICENSE.txt ] || printf '\n--- %s\n\n' "$f"
		cat "$f" || exit 1
	done)
}
highs_from_source() {
	need has_cmake cmake
	need has_make make
	need has_xz xz-utils
	fetch "$HIGHS_ARCHIVE" "$HIGHS_SHA256"
	say "building HiGHS $HIGHS_VERSION for $PREFIX (some minutes)"
	tar -C "$tmp" -xf "$deps/$HIGHS_ARCHIVE" || die "cannot unpack $deps/$HIGHS_ARCHIVE"
	# HiGHS prefers clang where there is one, so name the compilers.
	try cmake -S "$tmp/HiGHS-$HIGHS_VERSION" -B "$tmp/build" -G 'Unix Makefiles' \
		-DCMAKE_C_COMPILER="$(command -v "${CC:-cc}")" -DCMAKE_CXX_COMPILER="$(command -v "${CXX:-c++}")" \
		-DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib \
		-DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
		-DZLIB=OFF -DBUILD_TESTING=OFF -DBUILD_EXAMPLES=OFF || die "cmake failed"
	try cmake --build "$tmp/build" -j "$(getconf _NPROCESSORS_ONLN)" || die "the build of HiGHS failed"
	if mkdir -p "$PREFIX/lib" 2>/dev/null && [ -w "$PREFIX" ] && [ -w "$PREFIX/lib" ]; then
		try cmake --install "$tmp/build" || die "the installation of HiGHS failed"
	else
		try as_root "$(command -v cmake)" --install "$tmp/build" || die "the installation of HiGHS failed"
	fi
	highs_licences "$tmp/HiGHS-$HIGHS_VERSION" | put "$PREFIX/share/doc/highs/LICENSE.txt"
	write_pc "$HIGHS_VERSION" "-I$PREFIX/include/highs" "-L$PREFIX/lib -lhighs -lstdc++ -lm -lpthread"
	has_highs || die "HiGHS was built, but a program does not run with it"
}

# --- SAT ---------------------------------------------------------------------

# A cadical that is found need not write LRAT: that of Debian 12 does not.
has_cadical() {
	command -v cadical >/dev/null || return 1
	printf 'p cnf 1 2\n1 0\n-1 0\n' >"$tmp/no.cnf"
	rm -f "$tmp/no.lrat"
	cadical -q --lrat --no-binary "$tmp/no.cnf" "$tmp/no.lrat" >/dev/null 2>&1 || [ $? = 20 ] || return 1
	grep -q ' 0 1 2 0$\| 0 2 1 0$' "$tmp/no.lrat" 2>/dev/null
}
has_drat_trim() {
	command -v drat-trim >/dev/null && command -v lrat-check >/dev/null && has_cadical &&
		lrat-check "$tmp/no.cnf" "$tmp/no.lrat" 2>&1 | grep -qi verified
}

# programs puts executables into the prefix.
programs() { # files
	if mkdir -p "$tools" 2>/dev/null && [ -w "$tools" ]; then
		install -m 755 "$@" "$tools"
	else
		as_root mkdir -p "$tools" && as_root install -m 755 "$@" "$tools"
	fi
	hash -r
}
cadical_from_source() {
	need has_make make
	fetch "$CADICAL_ARCHIVE" "$CADICAL_SHA256"
	say "building CaDiCaL $CADICAL_VERSION for $tools"
	mkdir "$tmp/cadical"
	tar -C "$tmp/cadical" --strip-components=1 -xf "$deps/$CADICAL_ARCHIVE" || die "cannot unpack $deps/$CADICAL_ARCHIVE"
	(cd "$tmp/cadical" && CXX="${CXX:-c++}" try ./configure && try make -j "$(getconf _NPROCESSORS_ONLN)") || die "the build of CaDiCaL failed"
	programs "$tmp/cadical/build/cadical"
	has_cadical || die "CaDiCaL was built, but what PATH finds as cadical ($(command -v cadical)) does not write LRAT: put $tools before it"
}
drat_trim_from_source() {
	fetch "$DRAT_TRIM_ARCHIVE" "$DRAT_TRIM_SHA256"
	say "building drat-trim and lrat-check for $tools"
	mkdir "$tmp/drat-trim.src"
	tar -C "$tmp/drat-trim.src" -xf "$deps/$DRAT_TRIM_ARCHIVE" || die "cannot unpack $deps/$DRAT_TRIM_ARCHIVE"
	for p in drat-trim lrat-check; do
		try "${CC:-cc}" -O2 -w -std=gnu99 "$tmp/drat-trim.src/$p.c" -o "$tmp/$p" || die "the build of $p failed"
	done
	programs "$tmp/drat-trim" "$tmp/lrat-check"
	has_drat_trim || die "lrat-check was built, but does not accept a proof of two steps"
}

# --- provers -----------------------------------------------------------------

# Z3 and cvc5 as programs are for "make proofs" alone. They come as packages, whose
# checksums apt has from its signed lists. Where there are none, all else still
# works, and "make proofs" states what is missing.
answers() { [ "$(echo '(set-logic QF_LIA)(declare-const x Int)(assert (and (< 2 x) (< x 3)))(check-sat)' | "$@" 2>/dev/null)" = unsat ]; }
has_z3_program() { answers z3 -in; }
has_cvc5() { answers cvc5 --lang=smt2; }
like_to_have() { # test, package
	if $1; then return 0; fi
	say "installing $2"
	if may_root; then install_packages "$2" || :; else unpack_packages "$2" || :; fi
	hash -r
	$1 || say "$2 could not be installed; only make proofs needs it"
}
# program_from_root makes an unpacked program run by itself.
program_from_root() { # name
	case $(command -v "$1" || :) in
	"$root"/*)
		mkdir -p "$deps/tools"
		printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$LD_LIBRARY_PATH" "$root/usr/bin/$1" >"$deps/tools/$1"
		chmod 755 "$deps/tools/$1"
		;;
	esac
}

# --- a browser ---------------------------------------------------------------

# A browser that is found need not run: an unpacked one lacks libraries, and Ubuntu's
# chromium is a stub that wants a snap, which may not read what tests write. So let it
# read a page.
chromium=
has_chromium() {
	printf '<!doctype html><p id=p><script>p.textContent = 6 * 7</script>' >"$tmp/page.html"
	mkdir -p "$tmp/profile"
	for name in "$deps/tools/chromium-headless-shell" chromium-headless-shell chrome-headless-shell chromium google-chrome; do
		chromium=$(command -v $name) || continue
		case $(readlink -f "$chromium") in */snap/* | */snap) continue ;; esac
		if timeout 60 "$chromium" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update \
			--disable-sync --disable-dev-shm-usage --user-data-dir="$tmp/profile" --dump-dom "$tmp/page.html" 2>"$tmp/log" </dev/null | grep -q '>42<'; then return 0; fi
	done
	chromium=
	return 1
}
has_font() { find /usr/share/fonts /usr/local/share/fonts "${HOME:-/}/.fonts" "${HOME:-/}/.local/share/fonts" -name '*.[to]tf' 2>/dev/null | grep -q .; }
# unpacked_chromium lets an unpacked one run by itself: with its libraries, and with its
# fonts, where the system has none.
unpacked_chromium() {
	[ -x "$root/usr/lib/chromium/chromium-headless-shell" ] || return 1
	mkdir -p "$deps/tools"
	{
		printf '#!/bin/sh\n'
		if [ ! -f /etc/fonts/fonts.conf ]; then printf 'export FONTCONFIG_PATH=%s\n' "$root/etc/fonts"; fi
		if ! has_font; then printf 'export XDG_DATA_HOME=%s\n' "$root/usr/share"; fi
		printf 'LD_LIBRARY_PATH=%s exec %s "$@"\n' "$LD_LIBRARY_PATH:$root/usr/lib/$triplet/pulseaudio" "$root/usr/lib/chromium/chromium-headless-shell"
	} >"$deps/tools/chromium-headless-shell"
	chmod 755 "$deps/tools/chromium-headless-shell"
}
browser_from_package() {
	packages=chromium-headless-shell
	if ! has_font; then packages="$packages fonts-dejavu-core"; fi
	if ! may_root; then
		say "unpacking $packages"
		unpack_packages $packages && unpacked_chromium
		return
	fi
	say "installing $packages"
	install_packages $packages
}
if [ "${1:-}" = coq ]; then
	say "installing coq, ocaml and its libraries"
	if may_root; then
		install_packages coq || :
		install_packages ocaml ocaml-findlib libzarith-ocaml-dev libyojson-ocaml-dev || :
	fi
	{ command -v coqc && ocamlfind query zarith yojson; } >/dev/null 2>&1 || say "coq or ocaml could not be installed: make proofs states what it leaves out"
	exit 0
fi
if [ "${1:-}" = browser ]; then
	# Tests look for it in the same order: find in cmd/browser.
	if has_chromium || { [ $tried = no ] && browser_from_package && hash -r && has_chromium; }; then
		say "$chromium works: $("$chromium" --version 2>/dev/null | head -n 1)"
	else
		say "no Chromium could be installed: tests in a browser are left out (ORACCL_CHROMIUM=PROGRAM names one)"
	fi
	{
		echo "$chromium"
		sha256sum <cmd/setup/setup.sh
	} >"$deps/browser"
	rm -rf "$deps/apt"
	exit 0
fi

# --- all of it ---------------------------------------------------------------

if [ -d "$root/usr/bin" ]; then use_root; fi
need has_compilers build-essential
need has_pkg_config pkg-config
need has_z3 libz3-dev

# found_by_default reports whether pkg-config looks below a prefix by itself.
found_by_default() {
	case ":${PKG_CONFIG_PATH:-}:$(pc --variable pc_path pkg-config 2>/dev/null || :):" in
	*":$1/lib/pkgconfig:"*) return 0 ;;
	esac
	return 1
}
pc_path=${PKG_CONFIG_PATH:-}
use_prefix() {
	PREFIX=$1
	if ! found_by_default "$1"; then
		export PKG_CONFIG_PATH="$1/lib/pkgconfig${pc_path:+:$pc_path}"
	fi
}
# somebody_elses_highs reports whether /usr/local has one that does not work, and
# that is not ours to replace.
somebody_elses_highs() {
	f=/usr/local/lib/pkgconfig/highs.pc
	[ -f $f ] && ! grep -q 'put in place by oraccl' $f
}
if ! has_highs; then
	if [ -n "$PREFIX" ]; then
		use_prefix "$PREFIX"
	elif may_root && ! somebody_elses_highs; then
		use_prefix /usr/local
	else
		use_prefix "$deps"
	fi
	has_highs || highs_from_package || highs_from_source
fi
# Who gives the program to others gives them the licence of what is linked into it. One who built
# HiGHS before it was put in place takes it from the same archive, if there is a network.
at=$(pc --variable=pcfiledir highs)
licence=$(dirname "$(dirname "$at")")/share/doc/highs/LICENSE.txt
if [ ! -f "$licence" ] && grep -q 'put in place by oraccl' "$at/highs.pc"; then
	if (fetch "$HIGHS_ARCHIVE" "$HIGHS_SHA256") && tar -C "$tmp" -xf "$deps/$HIGHS_ARCHIVE"; then
		highs_licences "$tmp/HiGHS-$HIGHS_VERSION" | put "$licence"
	else
		say "the licence of HiGHS is not there; \"make release\" leaves out the archive with the solvers"
	fi
fi

# Programs, unlike libraries, are looked for in PATH.
tools=$deps/tools
if [ -n "${ORACCL_PREFIX:-}" ]; then tools=$ORACCL_PREFIX/bin; fi
PATH=$PATH:$tools
if ! has_cadical || ! has_drat_trim; then
	if [ -z "${ORACCL_PREFIX:-}" ] && may_root; then tools=/usr/local/bin; fi
	case ":$PATH:" in *":$tools:"*) ;; *) PATH=$tools:$PATH ;; esac
	has_cadical || cadical_from_source
	has_drat_trim || drat_trim_from_source
fi
like_to_have has_z3_program z3
like_to_have has_cvc5 cvc5
program_from_root z3
program_from_root cvc5
say "HiGHS $(pc --modversion highs), Z3, CaDiCaL $(cadical --version) and the compilers work"
if [ "${1:-}" = programs ]; then
	need has_make make
	rm -rf "$deps/apt"
	exit 0
fi
provers=$(command -v cadical drat-trim lrat-check)

# What cannot be found by default is written to env.sh.
rm -f "$deps/env.sh"
env=
export_env() { # name, value
	export "$1=$2"
	env="${env}export $1='$2'
"
}
if [ "${PKG_CONFIG_PATH:-}" != "$pc_path" ]; then export_env PKG_CONFIG_PATH "$PKG_CONFIG_PATH"; fi
case $(command -v "${PKG_CONFIG:-pkg-config}") in
"$root"/*) # an unpacked one needs its libraries
	mkdir -p "$deps/bin"
	printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$LD_LIBRARY_PATH" "$root/usr/bin/pkg-config" >"$deps/bin/pkg-config"
	chmod 755 "$deps/bin/pkg-config"
	export_env PKG_CONFIG "$deps/bin/pkg-config"
	;;
esac
if [ -n "$z3_include" ]; then
	export_env CGO_CFLAGS "${CGO_CFLAGS:--O2 -g} -I$z3_include"
	export_env CGO_CXXFLAGS "${CGO_CXXFLAGS:--O2 -g} -I$z3_include"
	export_env CGO_LDFLAGS "${CGO_LDFLAGS:--O2 -g} -L$z3_lib -Wl,-rpath,$z3_lib -Wl,--disable-new-dtags"
fi
case "$provers" in "$tools"/*)
	case ":$user_path:" in
	*":$tools:"*) ;;
	*)
		user_path=$user_path:$tools
		env="${env}export PATH=\"\$PATH\":'$tools'
"
		;;
	esac
	;;
esac
if [ -n "$env" ]; then
	printf '# Written by cmd/setup/setup.sh. For a shell that calls go itself: . .deps/env.sh\n%s' "$env" >"$deps/env.sh"
fi

# go-z3 links a libz3.a in its own directory, which no module holds. A linker
# script of that name hands the job to the Z3 that is installed. The header is
# read by nobody, but it is an input of the package: Go's build cache does not
# see when pkg-config's answer changes, and builds again because of it.
rm -rf "$deps/vendor"
if ! try go mod vendor -o "$deps/vendor" 2>"$tmp/why"; then
	# Where no network is, a vendor/ that came with the source does, if all that is imported is in it.
	if ! { [ -f vendor/modules.txt ] && go list -mod=vendor -deps -test ./... >/dev/null 2>&1; }; then
		cat "$tmp/why" >&2
		die "go mod vendor failed"
	fi
	say "no module proxy answers, and vendor/ has all modules"
	rm -rf "$deps/vendor"
	cp -R vendor "$deps/vendor"
fi
echo 'INPUT(-lz3)' >"$deps/vendor/github.com/mitchellh/go-z3/libz3.a"
echo "/* $(pc --modversion highs): $(pc --cflags --libs highs) */" >"$deps/vendor/github.com/lanl/highs/set-up.h"
if ! diff -rq vendor "$deps/vendor" >/dev/null 2>&1; then
	say "writing vendor/"
	rm -rf vendor
	mv "$deps/vendor" vendor
fi
rm -rf "$deps/vendor"

say "building and running a program that uses both"
PATH=$user_path
if [ -n "$user_library_path" ]; then LD_LIBRARY_PATH=$user_library_path; else unset LD_LIBRARY_PATH; fi
go run ./cmd/setup || die "go cannot build with what was set up"

{
	key
	printf '%s\n' vendor/modules.txt vendor/github.com/mitchellh/go-z3/libz3.a "$(pc --variable=pcfiledir highs)/highs.pc"
	# Headers and libraries, as the compiler and the linker find them.
	printf '#include <z3.h>\n#include <interfaces/highs_c_api.h>\nint main(void) { Z3_reset_memory(); return Highs_versionMajor(); }\n' >"$tmp/both.c"
	set -- ${z3_include:+"-I$z3_include" "-L$z3_lib"}
	# shellcheck disable=SC2046
	"${CC:-cc}" "$@" "$tmp/both.c" -M $(pc --cflags highs) | tr -s ' \\' '\n\n' | grep -E '/(z3|highs_c_api)\.h$'
	# shellcheck disable=SC2046
	"${CC:-cc}" "$@" "$tmp/both.c" -o "$tmp/both" $(pc --cflags --libs highs) -lz3 -Wl,--trace 2>/dev/null | grep -E '/lib(z3|highs)\.[a-z.0-9]*$' | sort -u
	printf '%s\n' "$provers"
	if [ -n "$env" ]; then echo .deps/env.sh; fi
} >"$deps/stamp"
rm -rf "$deps/apt"
if [ -n "$env" ]; then say "ready; before you call go yourself: . .deps/env.sh"; else say "ready"; fi
