#!/bin/sh
# The shell of the Makefile's recipes: sh, with go in PATH, and with what the
# set-up had to put into .deps (nothing, where it could install) in its
# environment.
if [ -f .deps/env.sh ]; then . ./.deps/env.sh; fi
command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin
exec /bin/sh "$@"
